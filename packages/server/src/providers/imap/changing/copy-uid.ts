import type { MovedBatch } from '../../changing.ts'
import { parseRanges } from '../compare.ts'
import { type ImapAttributeList, numberOf, responseCode, textOf } from '../values.ts'
import { locationOf } from './open-source.ts'

/** The locations that messages were copied to (RFC 4315 section 3). */
export interface CopiedUids {
  uidValidity: number
  /** UIDs in the target, by UIDs in the source. */
  uids: Map<number, number>
}

/**
 * Adds the numbers in COPYUID of an answer, unless they cannot be right: more than `countMax`, or two messages under
 * one number.
 */
export function readCopyUid(
  attributes: ImapAttributeList | undefined,
  copied: CopiedUids,
  countMax: number,
): void {
  const code = responseCode(attributes)
  if (textOf(code?.[0])?.toUpperCase() !== 'COPYUID') return
  const uidValidity = numberOf(code?.[1])
  const from = expand(textOf(code?.[2]), countMax)
  const to = expand(textOf(code?.[3]), countMax)
  if (!uidValidity || !from || !to || from.length !== to.length) return
  const taken = new Set([...copied.uids.values(), ...to])
  if (taken.size !== copied.uids.size + to.length) return
  copied.uidValidity = uidValidity
  for (const [at, uid] of from.entries()) copied.uids.set(uid, to[at]!)
}

/** The UIDs of a set in its order, in which both sets of COPYUID correspond; null if there are too many, or a zero. */
function expand(set: string | null, countMax: number): number[] | null {
  const uids: number[] = []
  for (const [from, to] of parseRanges(set ?? '')) {
    if (from === 0 || to - from >= countMax - uids.length) return null
    for (let uid = from; uid <= to; uid++) uids.push(uid)
  }
  return uids
}

/** The numbers of APPENDUID for one message; null if the answer has none. */
export function readAppendUid(
  attributes: ImapAttributeList | undefined,
): { uidValidity: number; uid: number } | null {
  const code = responseCode(attributes)
  if (textOf(code?.[0])?.toUpperCase() !== 'APPENDUID') return null
  const uidValidity = numberOf(code?.[1])
  const uid = numberOf(code?.[2])
  return uidValidity && uid ? { uidValidity, uid } : null
}

/** Makes the batch of messages that are in the target according to COPYUID. */
export function toBatch(
  moved: readonly number[],
  { uidValidity, uids }: CopiedUids,
  targetKey: string,
  gone: number[],
): MovedBatch {
  return {
    moved: moved.map(key => {
      const uid = uids.get(key)
      const location = uid === undefined ? null : locationOf(targetKey, uidValidity, uid)
      return { key, location, mailboxKeys: [targetKey] }
    }),
    gone,
  }
}
