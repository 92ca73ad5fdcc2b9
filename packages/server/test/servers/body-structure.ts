import { attributesOf, type ImapValue } from './imap-values.ts'
import type { World } from './world.ts'

/** A part that is no multipart, as a server sees it. */
export interface StructurePart {
  id: string
  /** In lower case: `text/plain`. */
  type: string
  /** Octets as RFC 9051 counts them, in the encoding of the part. */
  octets: number
}

/** What the server makes of the messages of INBOX (RFC 9051 section 7.5.2), by UID. */
export async function readStructures(world: World): Promise<Map<number, StructurePart[]>> {
  await world.uids('INBOX')
  const { untagged } = await world.witness.command('UID FETCH 1:* (UID BODYSTRUCTURE)')
  return new Map(
    untagged.flatMap(([, kind, values]) => {
      if (kind !== 'FETCH') return []
      const attributes = attributesOf(values)
      return [
        [Number(attributes.get('UID')), [...leaves(attributes.get('BODYSTRUCTURE') ?? null, '')]] as const,
      ]
    }),
  )
}

function* leaves(structure: ImapValue, id: string): Generator<StructurePart> {
  if (!Array.isArray(structure)) return
  if (!Array.isArray(structure[0])) {
    const [type, subtype, , , , , octets] = structure.map(String)
    yield { id: id || '1', type: `${type}/${subtype}`.toLowerCase(), octets: Number(octets) }
    return
  }
  for (const [index, part] of structure.entries()) {
    if (!Array.isArray(part)) return
    yield* leaves(part, id ? `${id}.${index + 1}` : `${index + 1}`)
  }
}
