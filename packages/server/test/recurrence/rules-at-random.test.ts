import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { expand } from '../../src/kit/recurrence/expand.ts'
import { seeded } from '../seeded.ts'
import { requireDateutil } from '../servers/install.ts'
import { randomRule, type RuleCase } from './random-rule.ts'

const BATCH = 200
const BATCHES = Math.ceil(Number(process.env['WAXWING_TEST_RULES'] ?? BATCH) / BATCH)

/** Rules that dateutil expands differently, with the clause of RFC 5545 that we follow. */
const DIFFERENCES: ReadonlyArray<{ clause: string; example: string; applies(rule: string): boolean }> = [
  {
    clause:
      '3.3.10, BYDAY: "1MO,TU" is the first Monday and each Tuesday; dateutil wants days that are both.',
    example: 'FREQ=MONTHLY;BYDAY=1MO,TU',
    applies: rule => /BYDAY=[^;]*\d[A-Z]/.test(rule) && /BYDAY=(?:[^;]*,)?[A-Z]/.test(rule),
  },
  {
    clause:
      '3.3.10: without parts for days, BYWEEKNO has the weekday of DTSTART; dateutil takes the whole week.',
    example: 'FREQ=YEARLY;BYWEEKNO=20',
    applies: rule => rule.includes('BYWEEKNO') && !/BYDAY|BYMONTHDAY|BYYEARDAY/.test(rule),
  },
  {
    clause:
      '3.3.10, BYDAY: numbers must not be used with BYWEEKNO, so we leave them out; dateutil counts them.',
    example: 'FREQ=YEARLY;BYWEEKNO=20;BYDAY=2MO',
    applies: rule => rule.includes('BYWEEKNO') && /BYDAY=(?:[^;]*,)?-?\d/.test(rule),
  },
  {
    clause: '3.3.10, BYSETPOS: the set is that of a whole week; dateutil begins the first week at DTSTART.',
    example: 'FREQ=WEEKLY;BYDAY=MO,WE,FR;BYSETPOS=2',
    applies: rule => rule.startsWith('FREQ=WEEKLY') && rule.includes('BYSETPOS'),
  },
  {
    clause: '3.3.10, BYWEEKNO: 1 January 2011 lies in week 52 of 2010; dateutil misses such days.',
    example: 'FREQ=YEARLY;BYWEEKNO=52,18,-44;BYMONTHDAY=1,2',
    applies: rule => /BYWEEKNO=(?:[^;]*,)?-?(?:1|52|53)\b/.test(rule),
  },
]

function askDateutil(cases: readonly RuleCase[]): string[][] {
  const script = path.join(import.meta.dirname, 'expand-by-dateutil.py')
  const input = cases.map(each => `${JSON.stringify(each)}\n`).join('')
  const { stdout, stderr } = spawnSync(requireDateutil(), [script], {
    input,
    maxBuffer: 2 ** 30,
    encoding: 'utf8',
  })
  if (stderr) throw new Error(stderr)
  return stdout
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as string[])
}

function expandCase({ rule, start, from, to }: RuleCase) {
  const { members, isTruncated } = expand({
    lines: [`RRULE:${rule}`],
    start: { wall: start, zone: null },
    from,
    to,
  })
  return { walls: members.map(({ wall }) => wall), isTruncated }
}

describe('random rules', () => {
  test.each(Array.from({ length: BATCHES }, (_, index) => index + 1))(
    'of batch %i have the members that dateutil finds, but for listed differences',
    batch => {
      const random = seeded(`rules ${batch}`)
      const cases = Array.from({ length: BATCH }, () => randomRule(random))
      const answers = askDateutil(cases)
      expect(answers).toHaveLength(BATCH)
      const compared = cases.map((each, index) => ({ ...each, ...expandCase(each), theirs: answers[index]! }))
      const whole = compared.filter(({ isTruncated }) => !isTruncated)
      expect(whole.length).toBeGreaterThan(BATCH * 0.8)
      const differing = whole.filter(({ walls, theirs }) => walls.join() !== theirs.join())
      const unlisted = differing.filter(({ rule }) => !DIFFERENCES.some(({ applies }) => applies(rule)))
      expect(unlisted).toEqual([])
      const comparable = whole.filter(
        ({ rule, walls }) => walls.length > 1 && !DIFFERENCES.some(({ applies }) => applies(rule)),
      )
      expect(comparable.length).toBeGreaterThan(BATCH / 2)
    },
  )

  test.each(DIFFERENCES)('differ as listed: $example', ({ example, applies }) => {
    const each = { rule: example, start: '20070131T090000', from: '20070131T090000', to: '20120101T000000' }
    expect(applies(example)).toBe(true)
    expect(expandCase(each).walls).not.toEqual(askDateutil([each])[0])
  })
})
