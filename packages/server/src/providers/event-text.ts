import { toNotes } from './contact-text.ts'

/** As long as the interface takes bodies of events. */
const BODY_LENGTH_MAX = 1_000_000

/** The content of the body of an event as the interface shows it. Null if it is blank. */
export const toBody = (text: string): string | null => toNotes(text, BODY_LENGTH_MAX)
