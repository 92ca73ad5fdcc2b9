import type { Check } from '../violation.ts'

/** I15: while tenants' servers hang at the dot, the mail of another tenant leaves soon. */
export const checkNeighbours: Check = ({ end: { neighbours, bounds } }) =>
  neighbours
    .filter(({ seconds }) => seconds === null || seconds > bounds.neighbour)
    .map(({ id, seconds }) => ({
      invariant: 'I15',
      message:
        seconds === null
          ? `the send ${id} did not leave while others hung at the dot`
          : `the send ${id} took ${seconds.toFixed(1)} s while others hung at the dot`,
    }))
