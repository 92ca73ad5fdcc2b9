import { expect, test } from 'vitest'
import type { OutlineField } from '../../../kit/mime/outline.ts'
import { isRefuted } from './authentication.ts'

const fields = (...values: string[]): OutlineField[] => [
  ['from', 'Bob <bob@example.org>'],
  ...values.map((value): OutlineField => ['authentication-results', value]),
]

test.each([
  { name: 'without results', values: [], isFailed: false },
  { name: 'of a server that checks nothing', values: ['mx.example.com; none'], isFailed: false },
  { name: 'that passed', values: ['mx.example.com; spf=pass; dkim=pass; dmarc=pass'], isFailed: false },
  {
    name: 'whose author is refuted',
    values: ['mx.example.com; spf=pass; dmarc=fail (p=none)'],
    isFailed: true,
  },
  {
    name: 'of a list, whose author is confirmed',
    values: ['mx.example.com; dkim=fail; spf=pass; dmarc=pass'],
    isFailed: false,
  },
  {
    name: 'with a broken signature',
    values: ['mx.example.com 1; dkim=fail (bad; body) header.d=x'],
    isFailed: true,
  },
  { name: 'from a server that may not send it', values: ['mx.example.com; spf=fail'], isFailed: true },
  { name: 'with one good signature', values: ['mx.example.com; dkim=fail; dkim=pass'], isFailed: false },
  {
    name: 'with two fields of the own server',
    values: ['mx.example.com; dkim=pass', 'mx.example.com; dmarc/1 = fail'],
    isFailed: true,
  },
  {
    name: 'that brings a field of another server',
    values: ['mx.example.com; dmarc=pass', 'mx.example.org; dmarc=fail'],
    isFailed: false,
  },
  {
    name: 'that brings a pass of a method that the own server failed',
    values: ['mx.example.com; spf=fail; dkim=fail', 'mx.example.com; dkim=pass'],
    isFailed: true,
  },
  {
    name: 'that brings a pass of a method without a result',
    values: ['mx.example.com; spf=fail; dmarc=none', 'mx.example.com; dmarc=pass'],
    isFailed: true,
  },
  {
    name: 'with results of two programs of the own server',
    values: ['mx.example.com; spf=fail', 'mx.example.com; dmarc=pass'],
    isFailed: false,
  },
  { name: 'with a comment that does not end', values: ['mx.example.com; (dmarc=fail'], isFailed: false },
])('a message $name', ({ values, isFailed }) => {
  expect(isRefuted(fields(...values))).toBe(isFailed)
})

test('a result that came with the message, below the line of a hop, speaks for nobody', () => {
  const [from, own, brought] = fields('mx.example.com; spf=fail', 'mx.example.com; dmarc=pass')
  const hop: OutlineField = ['received', 'from evil.example by mx.example.com']
  expect(isRefuted([own!, hop, brought!, from!])).toBe(true)
  expect(isRefuted([hop, own!, brought!, from!])).toBe(false)
  const failed: OutlineField = ['authentication-results', 'mx.example.com; dmarc=fail']
  expect(isRefuted([['authentication-results', 'mx.example.com; dmarc=pass'], hop, failed])).toBe(true)
})
