import { describe, expect, test } from 'vitest'
import { parseQuery } from '../../../kit/search-text/query.ts'
import { fillPage, type IndexPosition } from './fill-page.ts'
import { type Band, type BandResult, timeoutOf } from './store.ts'

const NEWEST: Band = { above: null, end: null, behind: null }
/** The second page of a band. */
const AGAIN: Band = { above: null, end: at(9), behind: { rank: '0.5', time: at(2).time, id: at(2).id } }
const QUICK = 50
const USUAL = 300
const SLOW = 700

/** The position of the message `nth`, counted from the newest. */
function at(nth: number) {
  const digits = String(1000 - nth).padStart(12, '0')
  return { time: `2026-01-01T00:00:00.${digits.slice(-3)}Z`, id: `00000000-0000-0000-0000-${digits}` }
}

/** The content of a band: the numbers of its messages, and the last message that was looked at. */
function band(found: number[], tookMs: number, end: number | null): BandResult {
  const ranked = found.map(nth => ({ ...at(nth), json: String(nth), rank: '0.5' }))
  return { ranked, tookMs, end: end === null ? null : at(end) }
}

/**
 * Fills a page from the given answers to its statements, in order; null is a timeout. The clock does not move by
 * default.
 */
async function fill(
  answers: ReadonlyArray<BandResult | null>,
  options: { start?: IndexPosition; canList?: boolean; hasTime?: boolean } = {},
) {
  const { start = { band: NEWEST, isWalk: false }, canList = true, hasTime = false } = options
  const asked: string[] = []
  let now = 0
  const left = [...answers]
  const read = ({ isWalk }: IndexPosition, looks: number) => {
    asked.push(`${isWalk ? 'walk' : 'list'} ${looks}`)
    const answer = left.shift()
    if (answer === undefined) throw new Error(`Nothing to answer after ${asked.join(', ')}`)
    if (hasTime) now += answer?.tookMs ?? 0
    return Promise.resolve(answer)
  }
  const page = await fillPage(read, start, { looks: 10_000, limit: 2, canList }, () => now)
  return { asked, results: page?.results ?? null, next: page?.next ?? null }
}

const LATER = { start: { band: AGAIN, isWalk: false } }
const LATER_WALK = { start: { band: AGAIN, isWalk: true } }

describe('a page', () => {
  test('lists the band, and continues in the next one', async () => {
    const page = await fill([band([1], USUAL, 5), band([6], USUAL, null)])
    expect(page).toEqual({ asked: ['list 10000', 'list 10000'], results: ['1', '6'], next: null })
  })

  test.each([
    ['more if that is quick', QUICK, ['walk 10000', 'walk 40000', 'walk 80000', 'walk 80000']],
    ['as many if that is not quick', USUAL, ['walk 10000', 'walk 10000', 'walk 10000', 'walk 10000']],
    ['fewer if that is slow', SLOW, ['walk 10000', 'walk 5000', 'walk 2500', 'walk 1250']],
  ])('looks at %s', async (_, tookMs, asked) => {
    const bands = [band([], tookMs, 1), band([], tookMs, 2), band([], tookMs, 3), band([4], tookMs, null)]
    const page = await fill(bands, { start: { band: NEWEST, isWalk: true } })
    expect(page).toEqual({ asked, results: ['4'], next: null })
  })

  test('ends after 0.4 seconds with the results so far', async () => {
    const bands = [band([1], USUAL, 5), band([], USUAL, 6)]
    expect(await fill(bands, { hasTime: true })).toEqual({
      asked: ['list 10000', 'list 10000'],
      results: ['1'],
      next: { band: { above: at(6), end: null, behind: null }, isWalk: false },
    })
  })

  test('walks the bands that follow one that took long to list', async () => {
    const page = await fill([band([1], SLOW, 5), band([6], USUAL, null)])
    expect(page.asked).toEqual(['list 10000', 'walk 5000'])
  })

  test('walks if listing takes too long, and then looks at fewer messages', async () => {
    const page = await fill([null, null, band([1], USUAL, null)])
    expect(page).toEqual({ asked: ['list 10000', 'walk 10000', 'walk 250'], results: ['1'], next: null })
  })

  test('gives up if even few messages take too long', async () => {
    expect(await fill([null, null, null])).toEqual({
      asked: ['list 10000', 'walk 10000', 'walk 250'],
      results: null,
      next: null,
    })
  })

  test('ends before a later band that takes too long, and walks it next', async () => {
    const page = await fill([band([1], USUAL, 5), null])
    expect(page.results).toEqual(['1'])
    expect(page.next).toEqual({ band: { above: at(5), end: null, behind: null }, isWalk: true })
  })
})

describe('the rest of a band', () => {
  test.each([
    ['is listed if that was quick', false, USUAL, 9, false],
    ['is walked if listing took long', false, SLOW, 9, true],
    ['is walked if it was walked before', true, USUAL, 9, true],
    ['is listed if it is the rest of the account', false, SLOW, null, false],
  ])('%s', async (_, isWalk, tookMs, end, isWalkedOn) => {
    const page = await fill([band([1, 2, 3], tookMs, end)], { start: { band: NEWEST, isWalk } })
    expect(page.results).toEqual(['1', '2'])
    expect(page.next?.isWalk).toBe(isWalkedOn)
    expect(page.next?.band.behind).toMatchObject({ ...at(2), rank: '0.5' })
  })

  test.each([
    ['walked if listing takes too long', LATER, ['list 10000', 'walk 10000']],
    ['listed if walking takes too long', LATER_WALK, ['walk 10000', 'list 10000']],
  ])('is %s, with the same number of looks', async (_, options, asked) => {
    expect(await fill([null, band([3], USUAL, null)], options)).toEqual({ asked, results: ['3'], next: null })
    expect(await fill([null, null], options)).toEqual({ asked, results: null, next: null })
  })

  test('is given up at once if only a walk can read it', async () => {
    const page = await fill([null], { ...LATER_WALK, canList: false })
    expect(page).toEqual({ asked: ['walk 10000'], results: null, next: null })
  })
})

test.each([
  ['few words', 'alpha beta', NEWEST, 1000],
  ['many words', 'a b c d e f g h i', NEWEST, 400],
  ['many words that the index cannot check', '-a -b -c -d -e -f -g -h -i', NEWEST, 1000],
  ['a band that is read again', 'alpha beta', AGAIN, 2000],
  ['many words in a band that is read again', 'a b c d e f g h i', AGAIN, 2000],
])('sets the time limit of a statement: %s', (_, q, of, milliseconds) => {
  expect(timeoutOf({ query: parseQuery(q)!, band: of })).toBe(milliseconds)
})
