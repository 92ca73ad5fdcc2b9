import { createHash } from 'node:crypto'
import type { Message } from '@waxwing/contract/mail/messages.ts'
import { afterAll, describe, expect, test } from 'vitest'
import { openMessageReader, ReaderLost } from '../../src/kit/mime/message-reader.ts'
import { summarize } from '../../src/kit/mime/summary.ts'
import { startDovecot } from '../servers/dovecot.ts'
import { useServer } from '../servers/shared-server.ts'
import { openWorld } from '../servers/world.ts'
import { connectMailbox, openSyncApp, readMessages, waitForFirstSync } from '../sync/followed-account.ts'
import { BOMBS } from './bombs.ts'
import { formatAttachment, parse } from './facts.ts'
import { openMeasuringThread } from './measured-parse.ts'
import { numberFor } from '../soak.ts'

/** Processor time of the thread alone: several times what a slow machine takes, and a fraction of anything quadratic. */
const CPU_MS_MAX = 5000
const MEMORY_MB_MAX = 64
const PIECE_BYTES = 256 * 1024
const FIRST_SYNC_SECONDS = 300
/** One of so many messages is served. */
const EACH = numberFor({ ci: 5, soak: 1 })
/** Attachments downloaded of each message. */
const ATTACHMENTS_DOWNLOADED = 3

async function* inPieces(raw: Buffer, pieceBytes = PIECE_BYTES) {
  for (let at = 0; at < raw.length; at += pieceBytes) yield raw.subarray(at, at + pieceBytes)
}

describe('hostile mail', () => {
  const thread = openMeasuringThread(MEMORY_MB_MAX)
  afterAll(() => thread[Symbol.asyncDispose]())

  test('covers at least 40 kinds', () => expect(Object.keys(BOMBS).length).toBeGreaterThanOrEqual(40))

  test.each(Object.entries(BOMBS))(
    '%s: is parsed within the limits and still summarised',
    async (_, make) => {
      const raw = make()
      const { message, cpuMs, memoryMb } = await thread.parse(raw)
      expect(cpuMs).toBeLessThan(CPU_MS_MAX)
      expect(memoryMb).toBeLessThan(MEMORY_MB_MAX)
      expect(message.attachments.length).toBeLessThanOrEqual(1000)
      const begun = process.threadCpuUsage()
      summarize(raw)
      const { user, system } = process.threadCpuUsage(begun)
      expect((user + system) / 1000).toBeLessThan(CPU_MS_MAX)
    },
  )

  test('over a limit is marked as incomplete', () => {
    const { isWhole, attachments } = parse(BOMBS['100,000 attachments']!())
    expect([isWhole, attachments.length]).toEqual([false, 999])
  })

  test('with more text than is shown has it as an attachment', () => {
    const { isWhole, html, attachments } = parse(BOMBS['text of 6 MB']!())
    expect([isWhole, html]).toEqual([true, null])
    expect(attachments.map(formatAttachment)).toEqual([`1 text/html ${6 * 1024 * 1024}`])
  })

  test('with a megabyte of recipients is parsed like any other', () => {
    const recipients = Array.from({ length: 60_000 }, (_, at) => `p${at}@bomb.test`).join(',\r\n ')
    const raw = `To: ${recipients}\r\nContent-Type: text/html\r\n\r\n<p>Hello`
    expect(parse(Buffer.from(raw), 300_000)).toMatchObject({ text: null, html: '<p>Hello', isWhole: true })
  })
})

describe('hostile mail, served by Dovecot', () => {
  const useIt = useServer(() => startDovecot())

  test('is listed and served unchanged', { timeout: 480_000 }, async () => {
    const server = useIt()
    const user = await server.addUser()
    await using world = await openWorld(server, user)
    // Dovecot sends another byte for NUL.
    const bombs = Object.values(BOMBS)
      .map(make => make())
      .filter(raw => !raw.includes(0))
      .filter((_, at) => at % EACH === 0)
    await world.deliver(bombs.map(raw => ({ raw })))
    await using app = await openSyncApp()
    const accountId = await connectMailbox(app, server, user, { bodyStorage: 'cache', syncWindowDays: null })
    // 200 MB, on a machine that may be busy with other work.
    await waitForFirstSync(app, accountId, FIRST_SYNC_SECONDS)
    const summaries = await readMessages(app, accountId)
    expect(summaries).toHaveLength(bombs.length)
    const digests: string[] = []
    for (const { id } of summaries) {
      const url = `/v1/accounts/${accountId}/messages/${id}`
      const { status, body } = await app.get<Message>(url)
      expect(status).toBe(200)
      const answer = await fetch(`${app.address}${url}/raw`, {
        headers: { authorization: `Bearer ${app.key}` },
      })
      const raw = Buffer.from(await answer.arrayBuffer())
      digests.push(digest(raw))
      expect(body.attachments.length).toBeLessThanOrEqual(1000)
      for (const { id: part, size } of body.attachments.slice(0, ATTACHMENTS_DOWNLOADED)) {
        const attachment = await fetch(`${app.address}${url}/attachments/${part}`, {
          headers: { authorization: `Bearer ${app.key}` },
        })
        expect((await attachment.arrayBuffer()).byteLength).toBe(size)
      }
      const { isWhole, text, html } = parse(raw)
      expect(body.body.text === null && body.body.html === null).toBe(!isWhole || (text ?? html) === null)
    }
    expect(digests.toSorted()).toEqual(bombs.map(digest).toSorted())
  })
})

/** Ignores the kind of line ends. */
function digest(raw: Buffer) {
  return createHash('sha256').update(raw.toString('latin1').replaceAll('\r', '')).digest('hex')
}

describe('the reader', () => {
  const small = () => inPieces(Buffer.from('Subject: x\r\n\r\nHello\r\n'))

  test('gives up on a message that takes too long, and reads the next', async () => {
    const script = new URL(
      'data:text/javascript,import{parentPort as p}from"node:worker_threads";p.on("message",()=>{for(;;);})',
    )
    await using stuck = openMessageReader({ script, workMsMax: 200 })
    expect(await stuck.read('a', small())).toBeNull()
    expect(await stuck.read('a', small())).toBeNull()
    await using reader = openMessageReader()
    expect(await reader.read('a', small())).toMatchObject({ text: 'Hello\n', isWhole: true })
  })

  test('loses only the current message when its thread ends', async () => {
    const script = new URL(
      'data:text/javascript,import{parentPort as p}from"node:worker_threads";p.on("message",()=>{for(;;);})',
    )
    await using stuck = openMessageReader({ script, workMsMax: 300 })
    const outcomes = await Promise.allSettled([stuck.read('a', small()), stuck.read('a', small())])
    expect(outcomes[0]).toEqual({ status: 'fulfilled', value: null })
    expect(outcomes[1]).toMatchObject({ status: 'rejected', reason: expect.any(ReaderLost) })
  })

  test('counts only the time that the thread works on a message', async () => {
    const script = new URL(
      'data:text/javascript,import{parentPort as p}from"node:worker_threads";p.on("message",({id})=>{Atomics.wait(new Int32Array(new SharedArrayBuffer(4)),0,0,250);p.postMessage({id,result:{words:new Uint8Array(1)}})})',
    )
    await using slow = openMessageReader({ script, workMsMax: 2000, readsAtOnce: 12 })
    const words = await Promise.all(Array.from({ length: 12 }, () => slow.readWords('a', small())))
    expect(words).toEqual(Array.from({ length: 12 }, () => ({ words: new Uint8Array(1) })))
  })

  test('reads many messages at once, and rethrows errors of their content', async () => {
    await using reader = openMessageReader()
    async function* broken() {
      yield Buffer.from('Subject: x\r\n')
      throw new Error('the connection is gone')
    }
    const reads = Array.from({ length: 30 }, (_, at) => reader.read('a', at % 3 === 0 ? broken() : small()))
    const outcomes = await Promise.allSettled(reads)
    for (const [at, outcome] of outcomes.entries())
      expect(outcome.status).toBe(at % 3 === 0 ? 'rejected' : 'fulfilled')
  })
})
