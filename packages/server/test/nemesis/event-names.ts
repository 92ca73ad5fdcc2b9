import { KEPT } from '../calendars/other-calendars.ts'

/** Subjects of singles that only the API changes begin with one of these. Guests are invited to meetings. */
export const MADE = KEPT
export const MEETING = 'Meeting'
