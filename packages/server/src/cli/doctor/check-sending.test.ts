import { expect, test } from 'vitest'
import { describeOverdue, describeServers, type GreetedServer } from './check-sending.ts'

const server = (host: string, port: number, problem: string | null): GreetedServer => ({
  host,
  port,
  security: 'starttls',
  accounts: 2,
  problem,
})

const LATE = 'The server did not answer within 10 seconds.'

test.each<[string, GreetedServer[], string[]]>([
  ['no server', [], []],
  [
    'servers that answer',
    [server('a.example', 587, null), server('b.example', 465, null)],
    ['ok: SMTP servers of accounts that answer: 2'],
  ],
  [
    'one server of a port that does not answer',
    [server('a.example', 587, null), server('b.example', 587, LATE)],
    [
      'ok: SMTP servers of accounts that answer: 1',
      `warning: b.example:587, accounts: 2. ${LATE} Check that it runs, and that this network allows connections to port 587.`,
    ],
  ],
  [
    'the only server of a port',
    [server('2001:db8::1', 25, LATE)],
    [
      `warning: [2001:db8::1]:25, accounts: 2. ${LATE} Check that it runs, and that this network allows connections to port 25.`,
    ],
  ],
  [
    'a port at which no server answers',
    [
      server('a.example', 465, null),
      ...['b', 'c', 'd', 'e'].map(name => server(`${name}.example`, 25, LATE)),
    ],
    [
      'ok: SMTP servers of accounts that answer: 1',
      `warning: None of the 4 SMTP servers at port 25 answers.\nb.example:25: ${LATE}\nc.example:25: ${LATE}\nd.example:25: ${LATE}\nand 1 more ` +
        'Allow connections to port 25 in the firewall. Many hosting providers block port 25, and some 465 and 587, until they are asked.',
    ],
  ],
])('describes %s', (_, servers, expected) => {
  const said = describeServers(servers).map(({ state, message, remedy }) =>
    [`${state}: ${message}`, ...(remedy === null ? [] : [remedy])].join(' '),
  )
  expect(said).toEqual(expected)
})

test.each([
  [0, []],
  [899, []],
  [4_000, ['A message has been due for 66 minutes. Messages that wait to be sent: 3']],
])('reports a message that has been due for %i seconds', (oldestDueSeconds, expected) => {
  expect(describeOverdue({ queued: 3, oldestDueSeconds }).map(({ message }) => message)).toEqual(expected)
})
