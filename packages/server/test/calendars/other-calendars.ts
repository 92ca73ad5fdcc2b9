import type { Random } from '../seeded.ts'

/** Another client of the calendars of an account. All its events are in UTC, and its series are daily. */
export interface OtherCalendars {
  /**
   * Changes something at random, unless someone else changes the same meanwhile.
   * @returns what it did, in words
   */
  act(random: Random): Promise<string>
  /** Start and subject of everything that takes place, as `20261201T090000Z Lunch`, in order. */
  list(): Promise<string[]>
}

/** The beginning of subjects of events that the interface makes, and that no other client changes. */
export const KEPT = 'Kept'
const UNTOUCHABLE = [KEPT, 'Meeting']

export const isUntouchable = (subject: string): boolean => UNTOUCHABLE.some(name => subject.startsWith(name))
