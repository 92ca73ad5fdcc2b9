/** Options of a test, or of a group of tests, that `npm run soak` runs and `npm test` leaves out. */
export const SOAK = { tags: ['soak'] }

const isSoak = process.env['WAXWING_TEST_SOAK'] === '1'

/** Cases for `test.each` or `describe.each`: in CI those that stand for the others, in a soak run all of them. */
export function casesFor<Case>(
  all: readonly Case[],
  isInCi: (each: Case, index: number) => boolean,
): readonly Case[] {
  return isSoak ? all : all.filter(isInCi)
}

/** A size or a number of rounds. */
export function numberFor(numbers: { ci: number; soak: number }): number {
  return isSoak ? numbers.soak : numbers.ci
}
