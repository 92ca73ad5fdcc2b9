/** Ids of types, the same in every PostgreSQL (pg_type.dat). */
const TYPES = { tsvector: 3614 } as const

const HEADER_BYTES = 20
const NULL_LENGTH = -1

/**
 * A parameter that is an array in PostgreSQL's binary form, with elements in their binary form. For large elements,
 * which are then neither escaped here nor parsed there.
 */
export function binaryArray(type: keyof typeof TYPES, elements: ReadonlyArray<Uint8Array | null>): Buffer {
  const length = elements.reduce((sum, element) => sum + 4 + (element?.length ?? 0), HEADER_BYTES)
  const array = Buffer.allocUnsafe(length)
  // One dimension, whether there are nulls, the type of the elements, their number, and 1 as the first index.
  const header = [1, elements.includes(null) ? 1 : 0, TYPES[type], elements.length, 1]
  let end = 0
  for (const field of header) end = array.writeInt32BE(field, end)
  for (const element of elements) {
    end = array.writeInt32BE(element?.length ?? NULL_LENGTH, end)
    if (element) array.set(element, end)
    end += element?.length ?? 0
  }
  return array
}
