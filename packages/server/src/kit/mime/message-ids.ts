const REFERENCES_MAX = 100
const FIELD_LENGTH_MAX = 64 * 1024
// RFC 5322 section 2.1.1 limits a line to 998 characters.
const ID = /<[^<>\s]{1,996}>/g

/** The Message-IDs of a field, with their angle brackets, in its order. */
export function readIds(field: string | null): string[] {
  if (!field) return []
  return field.slice(0, FIELD_LENGTH_MAX).toWellFormed().replaceAll('\0', '').match(ID) ?? []
}

/** The id of a message, with its angle brackets, even if the sender forgot them. */
export function readMessageId(field: string | null): string | null {
  const [id] = readIds(field)
  if (id) return id
  const bare = (field ?? '').replaceAll(/[<>]/g, '').trim()
  return /^[^\s\u0000-\u001f]{3,996}$/.test(bare) ? `<${bare.toWellFormed()}>` : null
}

/**
 * The Message-IDs of the messages before this one in its thread, oldest first: those of References, or the first of
 * In-Reply-To if there are none (RFC 5256 section 2.2). Of a longer list, the first and the last 99.
 */
export function readReferences(
  references: string | null,
  inReplyTo: string | null,
  own: string | null,
): string[] {
  const isOther = (id: string | null): id is string => id !== null && id !== own
  const listed = [...new Set(readIds(references))].filter(isOther)
  const parent = [readMessageId(references), readMessageId(inReplyTo)].find(isOther)
  const all = listed.length > 0 || parent === undefined ? listed : [parent]
  return all.length > REFERENCES_MAX ? [all[0]!, ...all.slice(1 - REFERENCES_MAX)] : all
}
