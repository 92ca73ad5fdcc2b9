import { randomBytes } from 'node:crypto'
import { request } from 'node:http'
import type { Message, MessageSummary } from '@waxwing/contract/mail/messages.ts'
import { startDovecot } from '../packages/server/test/servers/dovecot.ts'
import type { MailServer, TestUser } from '../packages/server/test/servers/mail-server.ts'
import { openWorld } from '../packages/server/test/servers/world.ts'
import { short } from './figures.ts'
import { wait } from './imapflow-process.ts'
import { readMemory } from './process-stats.ts'
import type { Benchmark, Report } from './row.ts'
import { type BenchService, startBenchService } from './service.ts'
import { startSmtpTaker } from './smtp-taker.ts'

const CALLERS = 16
/** Messages of the merge. */
const ENTRIES = 1000
const ROUNDS = 2
const ATTACHED_BYTES = 25 * 1024 * 1024
const SETTLE_SECONDS = 5
/** The answer of a service that is overloaded: the caller tries again. It may come before the body was read. */
const BUSY = 503
const BUSY_WAIT_SECONDS = 0.5

export const acceptMemory: Benchmark = {
  name: 'accept-memory',
  about:
    'Growth of the memory of the service process (without PostgreSQL) while 16 callers send messages with attachments of 25 MiB, and while a merge of large messages is accepted.',
  async run(report) {
    await using server = await startDovecot()
    await using taker = await startSmtpTaker()
    const user = await server.addUser()
    await using world = await openWorld(server, user)
    const content = randomBytes(ATTACHED_BYTES).toString('base64')
    await world.deliver({ raw: messageWith(content) })
    for (const [name, target] of [
      ['in the body', '≤ 400'],
      ['by reference', '≤ 64'],
    ] as const) {
      await using service = await startBenchService()
      const accountId = await service.connect(server, user, { smtpPort: taker.port })
      await service.untilInitialized(accountId)
      const attachment =
        name === 'in the body' ? { content, filename: 'large.bin' } : await findAttachment(service, accountId)
      const body = Buffer.from(
        JSON.stringify({
          to: [{ address: 'grace@bench.test' }],
          subject: 'A large message',
          text: 'See the attachment.',
          attachments: [attachment],
          // Long after the benchmark, so that nothing is sent meanwhile.
          sendAt: new Date(Date.now() + 7 * 86_400_000).toISOString(),
        }),
      )
      await wait(SETTLE_SECONDS)
      const { nowMb } = readMemory(service.pid)
      await Promise.all(
        Array.from({ length: CALLERS }, async () => {
          for (let round = 0; round < ROUNDS; round++) await sendPatiently(service, accountId, body)
        }),
      )
      report({
        measure: `${CALLERS} callers, 25 MiB ${name}, growth in MB`,
        result: short(readMemory(service.pid).peakMb - nowMb),
        yardstick: '',
        ratio: null,
        target,
      })
    }
    await measureMerge(server, user, taker.port, report)
  },
}

/** Growth while one merge is accepted, whose messages are a thousand times larger together than what is held of them. */
async function measureMerge(server: MailServer, user: TestUser, smtpPort: number, report: Report) {
  await using service = await startBenchService()
  const accountId = await service.connect(server, user, { smtpPort })
  await service.untilInitialized(accountId)
  const words = Array.from({ length: 999_000 / 9 }, () => randomBytes(3).toString('hex'))
  const body = Buffer.from(
    JSON.stringify({
      subject: 'A long letter',
      html: `<p>${words.join(' \n ')}</p>`,
      text: 'A long letter.',
      entries: Array.from({ length: ENTRIES }, (_, nth) => ({
        to: { address: `reader-${nth}@bench.test` },
      })),
      sendAt: new Date(Date.now() + 7 * 86_400_000).toISOString(),
    }),
  )
  await wait(SETTLE_SECONDS)
  const { nowMb } = readMemory(service.pid)
  const { status, text } = await send(service, `${accountId}/mail-merges`, body)
  if (status !== 200) throw new Error(`${status}: ${text}`)
  report({
    measure: `a merge of ${short(ENTRIES)} messages of 1 MB, growth in MB`,
    result: short(readMemory(service.pid).peakMb - nowMb),
    yardstick: '',
    ratio: null,
    target: '≤ 200',
  })
}

function messageWith(base64: string): string {
  const lines = base64.replace(/.{76}/g, '$&\r\n')
  const head =
    'Subject: The original\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n'
  const file =
    'Content-Type: application/octet-stream\r\nContent-Transfer-Encoding: base64\r\nContent-Disposition: attachment; filename=large.bin\r\n\r\n'
  return `${head}--b\r\nContent-Type: text/plain\r\n\r\nHello\r\n--b\r\n${file}${lines}\r\n--b--\r\n`
}

async function findAttachment(service: BenchService, accountId: string) {
  const path = `/v1/accounts/${accountId}/messages`
  const list = await service.get<{ items: MessageSummary[] }>(path)
  const messageId = list.body.items[0]?.id ?? ''
  const { body } = await service.get<Message>(`${path}/${messageId}`)
  return { messageId, attachmentId: body.attachments[0]?.id ?? '' }
}

async function sendPatiently(service: BenchService, accountId: string, body: Buffer): Promise<void> {
  for (;;) {
    const { status, text } = await send(service, `${accountId}/outbox`, body).catch(refusedEarly)
    if (status === 200) return
    if (status !== BUSY) throw new Error(`${status}: ${text}`)
    await wait(BUSY_WAIT_SECONDS)
  }
}

/** The connection of a request that is refused before its body was read ends, perhaps before the answer was seen. */
function refusedEarly(error: NodeJS.ErrnoException) {
  if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') throw error
  return { status: BUSY, text: '' }
}

/** By node:http: the body of all callers is one buffer. */
function send({ address, key }: BenchService, path: string, body: Buffer) {
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    'content-length': body.length,
  }
  return new Promise<{ status: number; text: string }>((resolve, reject) => {
    const url = `${address}/v1/accounts/${path}`
    const sent = request(url, { method: 'POST', headers }, answer => {
      let text = ''
      answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }))
    })
    sent.on('error', reject)
    sent.end(body)
  })
}
