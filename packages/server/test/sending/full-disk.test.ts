import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import { expect, test } from 'vitest'
import { callerOf } from '../caller.ts'
import { makePreparedFolder } from '../prepared-folder.ts'
import { startDovecot } from '../servers/dovecot.ts'
import { startSmtpSink } from '../servers/smtp-sink.ts'
import { startServiceProcess, until } from '../service-process.ts'
import { mountSmallDisk } from '../small-disk.ts'
import { waitUntil } from '../wait-until.ts'
import { connectSender, GRACE } from './open-sending.ts'
import { SOAK } from '../soak.ts'

/** Room for a cluster, its write-ahead log, and a copy of PostgreSQL if its user cannot reach the installed one. */
const DISK_MEGABYTES = 400
/** Content of this size is written in pieces before it is accepted. */
const LARGE_BYTES = 6_000_000

test('on a full disk sends are refused as overloaded, and nothing of them is queued', SOAK, async context => {
  await using disk = await mountSmallDisk(context, DISK_MEGABYTES)
  await using folder = await makePreparedFolder(disk.path)
  await using imap = await startDovecot()
  await using sink = await startSmtpSink()
  await using service = await startServiceProcess(folder, {
    env: { WAXWING_EGRESS_ALLOW: '127.0.0.1/32', WAXWING_ALLOW_PLAINTEXT: 'true', WAXWING_ROLES: 'api,jobs' },
  })
  const api = callerOf(service.address, service.key)
  const accountId = await connectSender(api, { imap, sink })
  const outbox = `/v1/accounts/${accountId}/outbox`
  const inAnHour = new Date(Date.now() + 3_600_000).toISOString()
  const small = { to: [GRACE], subject: 'small', text: 'Hello.\n', sendAt: inAnHour }
  // Bytes that cannot be compressed.
  const content = Buffer.from(
    Array.from({ length: LARGE_BYTES }, (_, index) => Math.imul(index, 0x9e3779b1) >>> 13),
  ).toString('base64')
  const attachments = [{ filename: 'large.bin', contentType: 'application/octet-stream', content }]
  const large = { ...small, subject: 'large', attachments }
  const accepted: string[] = []
  const post = async (body: object) => {
    const answer = await api.post<OutboxEntry>(outbox, body)
    if (answer.status === 200) accepted.push(answer.body.id)
    else {
      expect(answer).toMatchObject({ status: 503, body: { defined: true, code: 'overloaded' } })
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    }
    return answer.status
  }
  expect([await post(small), await post(large)]).toEqual([200, 200])

  await disk.fill()
  await until(async () => (await post(large)) === 503, 'a large send fails for lack of space')
  await until(async () => (await post(small)) === 503, 'a small send fails for lack of space')
  await disk.free()
  await waitUntil('the service to be ready', async () => (await api.get('/health/ready')).status === 200)
  const { body } = await api.get<{ items: OutboxEntry[] }>(`${outbox}?limit=200`)
  expect(body.items.map(({ id }) => id).toSorted()).toEqual(accepted.toSorted())

  expect(await post(small)).toBe(200)
  for (const id of accepted) await api.patch(`${outbox}/${id}`, { sendAt: null })
  await waitUntil(
    'all that was accepted to be sent',
    async () => (await sink.accepted()).length === accepted.length,
  )
})
