/** The fields of a JSON object: true for a value, a shape for an object or a list of objects. */
export interface Shape {
  readonly [field: string]: Shape | true
}

/** A shape with fields that are all plain values. */
export const values = (names: string): Shape =>
  Object.fromEntries(names.split(' ').map(name => [name, true as const]))
