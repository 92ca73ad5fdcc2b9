import { expect, test } from 'vitest'
import { dayOf, planRange, type Range } from './rules.ts'

const TODAY = '2026-03-10'
const KEPT_DAYS = 400

test.each<[what: string, asked: { from?: string; to?: string }, planned: Range | 'invalid' | null]>([
  ['neither bound: the last 30 days', {}, { from: '2026-02-09', to: TODAY }],
  ['only from: up to today', { from: '2026-03-01' }, { from: '2026-03-01', to: TODAY }],
  ['only to: the 30 days that end with it', { to: '2026-01-30' }, { from: '2026-01-01', to: '2026-01-30' }],
  ['one day', { from: '2026-03-10', to: '2026-03-10' }, { from: '2026-03-10', to: '2026-03-10' }],
  ['366 days', { from: '2025-03-10', to: '2026-03-10' }, { from: '2025-03-10', to: '2026-03-10' }],
  ['367 days', { from: '2025-03-09', to: '2026-03-10' }, 'invalid'],
  ['only from, more than 366 days ago', { from: '2025-03-09' }, 'invalid'],
  ['a reversed range', { from: '2026-03-02', to: '2026-03-01' }, 'invalid'],
  ['only from, after today', { from: '2026-03-11' }, 'invalid'],
  ['days to come', { from: '2026-03-01', to: '2026-04-01' }, { from: '2026-03-01', to: '2026-03-11' }],
  ['only days to come', { from: '2026-04-01', to: '2026-04-02' }, null],
  [
    'days that are kept no longer',
    { from: '2024-12-01', to: '2025-03-01' },
    { from: '2025-02-04', to: '2025-03-01' },
  ],
  ['only such days', { from: '2020-01-01', to: '2020-01-31' }, null],
  ['the first day that can be written', { to: '0000-01-01' }, null],
  ['the last day that can be written', { from: '9999-01-01', to: '9999-12-31' }, null],
])('%s', (_, asked, planned) => {
  expect(planRange(asked, { today: TODAY, keptDays: KEPT_DAYS })).toEqual(planned)
})

test('a range begins with the oldest of the days that are kept', () => {
  const oldest = planRange({ from: '2025-01-01', to: '2025-12-31' }, { today: TODAY, keptDays: KEPT_DAYS })
  if (oldest === null || oldest === 'invalid') throw new Error('The range has days that are kept')
  expect(dayOf(TODAY) - dayOf(oldest.from) + 1).toBe(KEPT_DAYS)
})
