import { expect, test } from 'vitest'
import { expectedAnswers } from './expected-answers.ts'

const atom = (value: string) => ({ type: 'ATOM', value })
const fetch = (set: string, ...items: object[]) => ({
  name: 'UID FETCH',
  arguments: [{ type: 'SEQUENCE', value: set }, items.map(item => ({ type: 'ATOM', ...item }))],
})
const source = (bytes: number) => ({
  value: 'BODY.PEEK',
  section: [],
  partial: [0, bytes] as [number, number],
})

const KB = 1024

test.each([
  ['a question for a sign of life', { name: 'NOOP' }, 100, 64 * KB],
  ['flags of a hundred messages', fetch('1:100', atom('FLAGS')), 300, 164 * KB],
  ['flags of a mailbox', fetch('1:4294967295', atom('FLAGS')), 2100, (64 + 1000) * KB],
  ['a piece of a source', fetch('7', source(256 * KB)), 102, (64 + 1 + 256) * KB],
  [
    'structures, which senders can make long',
    fetch('1:10', atom('BODYSTRUCTURE')),
    120,
    (64 + 10 * 33 + 64 * KB) * KB,
  ],
  ['beginnings of messages', fetch('1:500', source(16 * KB)), 1100, (64 + 500 * 17) * KB],
  [
    'flags of messages that are changed',
    { name: 'UID STORE', arguments: [{ type: 'SEQUENCE', value: '1:200' }] },
    500,
    264 * KB,
  ],
  ['what a plain EXPUNGE removes', { name: 'EXPUNGE' }, 600, 314 * KB],
])('expects as much as was requested: %s', (_, command, answers, bytes) => {
  expect(expectedAnswers(command, 1000)).toMatchObject({ answers, bytes })
})
