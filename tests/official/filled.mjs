// Something for every property of an object that a JSON Schema describes.
export function filled(schema) {
  const properties = Object.entries(schema.properties ?? {});
  return Object.fromEntries(properties.map(([name, each]) => [name, plausible(each)]));
}

function plausible(schema) {
  if (schema.enum !== undefined) return schema.enum[0];
  switch (schema.type) {
    case "string":
      return "official";
    case "integer":
    case "number":
      return schema.minimum ?? 1;
    case "boolean":
      return true;
    case "array":
      return [];
    default:
      return {};
  }
}
