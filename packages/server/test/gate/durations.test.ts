import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { describeDurations } from '../../../../scripts/duration-reporter.ts'
import { orderFiles, readDurations } from '../../../../scripts/durations.ts'

const STYLE = path.resolve(import.meta.dirname, '../../../../STYLE.md')
const SECONDS_MAX = 60

test('durations are seconds by file, in the order of the names, with the versions of PostgreSQL apart', () => {
  const files = [
    { postgres: '18', file: 'b', milliseconds: 61_049 },
    { postgres: '16', file: 'b', milliseconds: 49 },
    { postgres: '18', file: 'a', milliseconds: 151 },
  ]
  expect(describeDurations(files)).toBe(
    `${JSON.stringify({ 'PostgreSQL 18': { a: 0.2, b: 61 }, 'PostgreSQL 16': { b: 0 } }, null, 2)}\n`,
  )
})

test('a run begins with files that share no worker, goes on by project, and takes the longest first', () => {
  const files = [
    { sharing: 'one', seconds: 30 },
    { sharing: null, seconds: 10 },
    { sharing: 'other', seconds: 50 },
    { sharing: null, seconds: 20 },
    { sharing: 'one', seconds: 40 },
    { sharing: null, seconds: undefined },
    { sharing: 'other', seconds: 5 },
  ]
  expect(orderFiles(files).map(({ seconds }) => seconds)).toEqual([undefined, 20, 10, 50, 5, 40, 30])
})

test('a file that takes over 60 seconds has its reason in STYLE.md', () => {
  const style = readFileSync(STYLE, 'utf8')
  const long = Object.values(readDurations()).flatMap(seconds =>
    Object.keys(seconds).filter(file => seconds[file]! > SECONDS_MAX),
  )
  const isListed = (file: string) => style.includes(`| \`${file.replace('packages/server/', '')}\` |`)
  expect(long.filter(file => !isListed(file))).toEqual([])
})
