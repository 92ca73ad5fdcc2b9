import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Message } from '@waxwing/contract/mail/messages.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ODD_MAIL } from '../mail/odd/odd-mail.ts'
import { mail } from '../mail/odd/odd-message.ts'
import type { TestApp } from '../open-app.ts'
import { readStructures } from '../servers/body-structure.ts'
import { startDovecot } from '../servers/dovecot.ts'
import { openWorld, type World } from '../servers/world.ts'
import { connectMailbox, openSyncApp, readMessages, waitForFirstSync } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import { contentOf, formatAttachment, ourFacts, parse } from './facts.ts'
import { casesFor, SOAK } from '../soak.ts'

const READS_AT_ONCE = 6
const SERVED = Object.entries(ODD_MAIL).filter(([, { isUnservable }]) => !isUnservable)
/** Types of body texts. Dovecot repeats an invalid type. */
const TEXTS = new Set(['text/plain', 'text/html', 'text/', '/'])
const MEGABYTE = 1024 * 1024

/**
 * A server may write its own line ends; Dovecot drops carriage returns outside of line ends. NUL must not be sent (RFC
 * 9051 section 4.3.1): Dovecot sends 0x80.
 */
const lines = (raw: Buffer) => raw.toString('latin1').replaceAll('\r', '').replaceAll('\0', '\x80')

/** Does the same for all items, a few at a time. */
async function forEach<T>(items: readonly T[], work: (item: T) => Promise<void>) {
  const queue = items.values()
  const run = async () => {
    for (const item of queue) await work(item)
  }
  await Promise.all(Array.from({ length: READS_AT_ONCE }, run))
}

const STORAGES = casesFor(['none', 'cache'], bodyStorage => bodyStorage === 'cache')

describe('odd mail, served by Dovecot', () => {
  const opened = new AsyncDisposableStack()
  const names = new Map(SERVED.map(([name, { raw }]) => [lines(raw), name]))
  let world: World
  let app: TestApp
  let accountId: string
  let uids: number[]

  const download = async (resource: string) => {
    const answer = await fetch(`${app.address}/v1/accounts/${accountId}/messages/${resource}`, {
      headers: { authorization: `Bearer ${app.key}` },
    })
    return { status: answer.status, bytes: Buffer.from(await answer.arrayBuffer()) }
  }

  beforeAll(async () => {
    const server = opened.use(await startDovecot())
    const user = await server.addUser()
    world = opened.use(await openWorld(server, user))
    uids = await world.deliver(SERVED.map(([, { raw }]) => ({ raw })))
    const blobDir = await mkdtemp(path.join(tmpdir(), 'waxwing-blobs-'))
    opened.defer(() => rm(blobDir, { recursive: true, force: true }))
    app = opened.use(await openSyncApp({ config: { blobDir } }))
    accountId = await connectMailbox(app, server, user, { bodyStorage: 'none', syncWindowDays: null })
    await waitForFirstSync(app, accountId)
  })
  afterAll(() => opened.disposeAsync())

  test('is listed, and no message is quarantined', async () => {
    expect(await readMessages(app, accountId)).toHaveLength(SERVED.length)
    expect(await app.db.selectFrom('quarantined_message').selectAll().execute()).toEqual([])
  })

  test.each(STORAGES)('is read and downloaded unchanged, with bodyStorage %s', async bodyStorage => {
    await app.patch(`/v1/accounts/${accountId}`, { settings: { bodyStorage } })
    const seen = new Set<string>()
    await forEach(await readMessages(app, accountId), async summary => {
      const { bytes: raw } = await download(`${summary.id}/raw`)
      const name = names.get(lines(raw)) ?? `nothing that was sent: ${lines(raw).slice(0, 300)}`
      seen.add(name)
      const { status, body } = await app.get<Message>(`/v1/accounts/${accountId}/messages/${summary.id}`)
      expect(status, name).toBe(200)
      const facts = ourFacts(raw)
      const trim = (text: string | null) => text && text.replace(/\n+$/, '')
      expect(trim(body.body.text), name).toBe(facts.text)
      expect(trim(body.body.html), name).toBe(facts.html)
      expect(body.subject, name).toBe(facts.subject)
      expect(body.sentAt, name).toBe(facts.date)
      expect(body.attachments.map(formatAttachment), name).toEqual(facts.attachments)
      for (const part of parse(raw).attachments) {
        const { status: found, bytes } = await download(`${summary.id}/attachments/${part.id}`)
        expect(found, `${name} ${part.id}`).toBe(200)
        expect(bytes.toString('latin1'), `${name} ${part.id}`).toBe(contentOf(raw, part).toString('latin1'))
      }
    })
    expect([...seen].toSorted()).toEqual([...names.values()].toSorted())
  })

  test('has the same parts, numbers and sizes as in Dovecot', async () => {
    const structures = await readStructures(world)
    for (const [index, [name, { raw, unlike }]] of SERVED.entries()) {
      const sent = Buffer.from(lines(raw).replaceAll('\n', '\r\n'), 'latin1')
      const theirs = structures.get(uids[index]!)!
      const ours = parse(sent).attachments
      const ids = new Set(ours.map(({ id }) => id))
      const found = ours.map(({ id, contentType, start, end }) => ({
        id,
        type: contentType,
        octets: end - start,
      }))
      const wanted = theirs.filter(({ id }) => ids.has(id))
      const others = theirs.filter(({ id }) => !ids.has(id))
      const isSame =
        JSON.stringify(found) === JSON.stringify(wanted) && others.every(({ type }) => TEXTS.has(type))
      if (unlike?.dovecot) expect(isSame, `${name} is the same`).toBe(false)
      else expect([found, others.filter(({ type }) => !TEXTS.has(type))], name).toEqual([wanted, []])
    }
  })

  test('over 50 MB is listed and served, but not parsed', SOAK, async () => {
    const raw = mail('Subject: huge', Buffer.alloc(50 * MEGABYTE, `${'0123456789abcde'.repeat(5)}\r\n`))
    await world.deliver({ raw })
    await app.post(`/v1/accounts/${accountId}/sync`, {})
    const { id } = await waitUntil('the huge message', async () =>
      (await readMessages(app, accountId)).find(({ subject }) => subject === 'huge'),
    )
    const { body } = await app.get<Message>(`/v1/accounts/${accountId}/messages/${id}`)
    expect(body).toMatchObject({ body: { text: null, html: null }, attachments: [] })
    const { status, bytes } = await download(`${id}/raw`)
    expect([status, bytes.length]).toEqual([200, raw.length])
    expect(bytes.equals(raw)).toBe(true)
  })
})
