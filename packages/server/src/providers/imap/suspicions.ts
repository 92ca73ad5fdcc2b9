/**
 * The rest of a group that ended a connection is tried in pieces of an eighth: three steps from 500 to one.
 */
const DIVISOR = 8
/**
 * A single message is given up when this many connections ended over it alone: one may have ended for another reason.
 */
const STRIKES = 2
const SOURCES_MAX = 1000

interface Suspicion {
  uidValidity: number
  /** UIDs that were requested and not received when a connection died, ascending. */
  uids: number[]
  /** Number of connections that died over the only remaining one. */
  strikes: number
}

/**
 * Remembers, over the connections of one account, which messages may have ended one. Otherwise an answer that exceeds
 * the limits of our parser, or a server process that crashes on a corrupt file, would end every pass at the same
 * point.
 */
export class Suspicions {
  readonly #bySource = new Map<string, Suspicion>()

  /**
   * Cuts UIDs into groups to be fetched: unsuspected ones as they are, the others in small groups.
   * @returns groups in the given order, and the UIDs that should be given up
   */
  plan(
    source: string,
    uidValidity: number,
    uids: readonly number[],
  ): { groups: number[][]; poison: number[] } {
    const suspicion = this.#find(source, uidValidity)
    if (!suspicion) return { groups: uids.length > 0 ? [[...uids]] : [], poison: [] }
    const suspects = new Set(suspicion.uids)
    const poison = suspicion.strikes >= STRIKES ? uids.filter(uid => suspects.has(uid)) : []
    const size = Math.max(1, Math.floor(suspicion.uids.length / DIVISOR))
    const groups: number[][] = []
    let wasSuspect: boolean | null = null
    for (const uid of uids) {
      if (poison.includes(uid)) continue
      const isSuspect = suspects.has(uid)
      const group = groups.at(-1)
      if (group && isSuspect === wasSuspect && (!isSuspect || group.length < size)) group.push(uid)
      else groups.push([uid])
      wasSuspect = isSuspect
    }
    return { groups, poison }
  }

  /** Called when the connection died while these were outstanding. */
  accuse(source: string, uidValidity: number, uids: readonly number[]): void {
    if (uids.length === 0) return
    const earlier = this.#find(source, uidValidity)
    const isSame = earlier?.uids.length === 1 && uids.length === 1 && earlier.uids[0] === uids[0]
    const strikes = uids.length > 1 ? 0 : isSame ? earlier.strikes + 1 : 1
    if (this.#bySource.size >= SOURCES_MAX && !earlier) this.#bySource.clear()
    this.#bySource.set(source, { uidValidity, uids: uids.toSorted((a, b) => a - b), strikes })
  }

  /** Called when these were received, or given up. */
  clear(source: string, uidValidity: number, uids: readonly number[]): void {
    const suspicion = this.#find(source, uidValidity)
    if (!suspicion) return
    const cleared = new Set(uids)
    suspicion.uids = suspicion.uids.filter(uid => !cleared.has(uid))
    if (suspicion.uids.length === 0) this.#bySource.delete(source)
  }

  #find(source: string, uidValidity: number): Suspicion | null {
    const suspicion = this.#bySource.get(source)
    return suspicion && suspicion.uidValidity === uidValidity ? suspicion : null
  }
}
