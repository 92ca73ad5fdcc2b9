import { afterAll, beforeAll, expect, test } from 'vitest'
import { BOMBS } from '../../../../test/bodies/bombs.ts'
import { HOSTILE_REPORTS } from '../../../../test/sending/answers/hostile-reports.ts'
import { type MessageReader, openMessageReader } from '../../../kit/mime/message-reader.ts'
import { parseComplaint } from '../bounces/complaint.ts'
import { parseReport } from '../bounces/report.ts'
import { judge } from '../bounces/rules.ts'
import { classifyReply } from '../classification/rules.ts'
import { ANSWER_BYTES_MAX } from './limits.ts'

const SEND = {
  messageId: '<2f1c.1@mail.example.com>',
  outboxId: '0199a1b2-0000-7000-8000-000000000001',
  sender: 'ada@example.com',
}

/** The time limit for one message: many times the time that is needed, and far below that of a quadratic step. */
const CPU_MS_MAX = 300

const MESSAGES: ReadonlyArray<readonly [string, () => Buffer]> = [
  ...HOSTILE_REPORTS.map(({ name, write }) => [name, () => Buffer.from(write(SEND))] as const),
  ...Object.entries(BOMBS),
]

let reader: MessageReader
beforeAll(() => void (reader = openMessageReader()))
afterAll(() => reader[Symbol.asyncDispose]())

test.each(MESSAGES)('%s is read within the time of the reader, and decided on', async (_, write) => {
  const outline = await reader.readOutline('a', write().subarray(0, ANSWER_BYTES_MAX))
  // The reader ends reads that take longer, and returns null.
  if (!outline) throw new Error('it took too long')
  expect(outline.text.length).toBeLessThanOrEqual(64 * 1024)
  expect(outline.fields.length).toBeLessThanOrEqual(1_000)
  expect(outline.reports.length).toBeLessThanOrEqual(20)
  const before = process.threadCpuUsage()
  const report = parseReport(outline)
  expect(report?.failed.length ?? 0).toBeLessThanOrEqual(1_000)
  for (const failed of report?.failed ?? []) {
    expect(failed.diagnostic.length).toBeLessThanOrEqual(500)
    judge(failed)
  }
  parseComplaint(outline)
  classifyReply({ outline, receivedAt: new Date(), knownAddresses: [] })
  // Time of the processor, since other programs do not count towards it.
  const { user, system } = process.threadCpuUsage(before)
  expect((user + system) / 1_000).toBeLessThan(CPU_MS_MAX)
})
