import { describe, expect, test } from 'vitest'
import { DSN_SHAPES, NO_REPORTS, type ReportedSend } from '../../../../test/sending/answers/dsn-shapes.ts'
import { readOutline } from '../../../kit/mime/outline.ts'
import { bouncedOf } from './recipients.ts'
import { parseReport } from './report.ts'

const SEND: ReportedSend = {
  messageId: '<2f1c.1@mail.example.com>',
  outboxId: '0199a1b2-0000-7000-8000-000000000001',
  sender: 'ada@example.com',
}

/** The recipients to whom the message was sent; others that a report names do not count. */
const SENT_TO = new Map(
  ['grace@example.org', 'max@example.org', 'jürgen@example.org', 'grace+tag@example.org'].map(address => [
    address,
    address,
  ]),
)

function read(source: string) {
  const report = parseReport(readOutline(Buffer.from(source)))
  const bounced = report ? bouncedOf(report, { sender: SEND.sender, recipients: SENT_TO }) : []
  const failed = bounced.map(({ address, type, status, suppresses }) =>
    [address, type, status, ...(suppresses ? ['suppressed'] : [])].join(' '),
  )
  const isNamed =
    report !== null &&
    (report.messageIds.includes(SEND.messageId) || report.outboxIds.includes(SEND.outboxId))
  return { failed, isNamed }
}

describe('parseReport', () => {
  test.each(DSN_SHAPES.map(shape => [shape.name, shape] as const))('reads %s', (_, { write, expected }) => {
    const { failed, isNamed } = read(write(SEND))
    expect(failed).toEqual(expected)
    if (expected.length > 0) expect(isNamed).toBe(true)
  })

  test.each(NO_REPORTS.map(shape => [shape.name, shape] as const))(
    'takes no notice of %s',
    (_, { write }) => {
      expect(read(write(SEND)).failed).toEqual([])
    },
  )

  test('is tested with at least sixty shapes', () => expect(DSN_SHAPES.length).toBeGreaterThanOrEqual(60))
})
