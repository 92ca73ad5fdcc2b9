import { expect, test } from 'vitest'
import { newTimes } from './new-times.ts'

const berlin = (wall: string) => ({ wall, zone: 'Europe/Berlin' })
const york = (wall: string) => ({ wall, zone: 'America/New_York' })
const day = (wall: string) => ({ wall, zone: null })
const BEFORE = { start: berlin('20260105T090000'), end: berlin('20260105T103000') }
const FLIGHT = { start: berlin('20260105T090000'), end: york('20260105T120000') }
const DAYS = { start: day('20260105'), end: day('20260107') }

test.each([
  ['nothing changes', BEFORE, {}, null, BEFORE],
  [
    'a start keeps the length',
    BEFORE,
    { start: berlin('20260106T140000') },
    null,
    { start: berlin('20260106T140000'), end: berlin('20260106T153000') },
  ],
  [
    'an end changes the length',
    BEFORE,
    { end: berlin('20260105T100000') },
    null,
    { ...BEFORE, end: berlin('20260105T100000') },
  ],
  [
    'the end goes along into another zone',
    BEFORE,
    { start: york('20260105T090000') },
    null,
    { start: york('20260105T090000'), end: york('20260105T103000') },
  ],
  [
    'an end in another zone stays there',
    FLIGHT,
    { start: berlin('20260705T090000') },
    null,
    { start: berlin('20260705T090000'), end: york('20260705T120000') },
  ],
  [
    'days stay as many',
    DAYS,
    { start: day('20260201') },
    null,
    { start: day('20260201'), end: day('20260203') },
  ],
  [
    'a time becomes a whole day',
    BEFORE,
    { start: day('20260201') },
    null,
    { start: day('20260201'), end: day('20260202') },
  ],
  [
    'days become as many hours',
    DAYS,
    { start: berlin('20260201T080000') },
    null,
    { start: berlin('20260201T080000'), end: berlin('20260203T080000') },
  ],
  [
    'a member moves its series',
    BEFORE,
    { start: berlin('20260113T100000') },
    '20260112T090000',
    { start: berlin('20260106T100000'), end: berlin('20260106T113000') },
  ],
  [
    'the end of a member changes the length of its series',
    BEFORE,
    { end: berlin('20260112T110000') },
    '20260112T090000',
    { ...BEFORE, end: berlin('20260105T110000') },
  ],
  [
    'a member makes its series one of days',
    BEFORE,
    { start: day('20260113'), end: day('20260114') },
    '20260112T090000',
    { start: day('20260106'), end: day('20260107') },
  ],
  [
    'a member gives its series another zone',
    BEFORE,
    { start: york('20260112T080000') },
    '20260112T090000',
    { start: york('20260105T080000'), end: york('20260105T093000') },
  ],
])('%s', (_, before, change, timesOf, after) => {
  expect(newTimes(before, change, timesOf)).toEqual(after)
})
