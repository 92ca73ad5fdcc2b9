/** A request for units of a quota that several processes use. */
export interface QuotaAsk {
  name: string
  unitsMax: number
  /** Units that this process has used of its own part, which count as shared from now on. */
  usedUnits: number
}

/** Counts the units that all processes use within a window. */
export interface SharedUse {
  /**
   * Adds the units to all quotas, or to none if there is no room in one of them. Without `isTaken` it only checks for
   * room.
   * @returns milliseconds until there may be room; 0 if there is
   */
  take(quotas: readonly QuotaAsk[], units: number, isTaken: boolean): Promise<number>
}
