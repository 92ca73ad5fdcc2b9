import type { Check } from '../violation.ts'

/** I16: once the clock of the database is right again, nothing waits for a time that was set in the future. */
export const checkTimesAhead: Check = ({ end }) =>
  end.timesAhead.map(column => ({ invariant: 'I16', message: `a time in ${column} lies ahead` }))
