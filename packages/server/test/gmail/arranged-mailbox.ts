import { expect } from 'vitest'
import { newId } from '../../src/kit/ids.ts'
import type { MemoryIndex } from '../../src/providers/conformance/memory-index.ts'
import type { MailProvider } from '../../src/providers/mail.ts'
import { type SandboxServer, startSandbox } from '../servers/sandbox.ts'
import { useServer } from '../servers/shared-server.ts'
import { configureGmail, type GmailClient, openGmailClient } from './gmail-client.ts'
import { reachSandbox } from './reach-sandbox.ts'

export interface Arranged {
  server: SandboxServer
  email: string
  client: GmailClient
  clock: { now: number }
  connect: Awaited<ReturnType<typeof reachSandbox>>['connect']
  /** The calls that the adapter made since the last time, as `GET messages`. */
  takeCalls(): Promise<string[]>
}

/** One sandbox for all tests of a file. @returns a function that adds a mailbox to it */
export function useMailboxes(): (messages?: number) => Promise<Arranged & AsyncDisposable> {
  const sandbox = useServer(async () => {
    const server = await startSandbox()
    await configureGmail(server, { quota: 'off' })
    return server
  })
  return (messages = 0) => arrange(sandbox(), messages)
}

async function arrange(server: SandboxServer, messages: number): Promise<Arranged & AsyncDisposable> {
  const email = `${newId()}@gmail.test`
  await server.addUser(email, { messages })
  const client = await openGmailClient(server, email)
  const clock = { now: Date.now() }
  const reached = await reachSandbox(server, email, { now: () => clock.now })
  let after = 0
  return {
    server,
    email,
    client,
    clock,
    connect: reached.connect,
    async takeCalls() {
      const { items } = await server.calls({ user: email, after })
      after = Math.max(after, ...items.map(({ id }) => id))
      const own = items.filter(({ clientId }) => clientId === 'sandbox')
      return own.map(({ method, path }) => `${method} ${path.replace('/gmail/v1/users/me/', '')}`)
    },
    [Symbol.asyncDispose]: () => reached[Symbol.asyncDispose](),
  }
}

export const letter = (number: number, extra = '') =>
  `From: "Lovelace, Ada" <ada@example.com>\r\nTo: Bob <bob@example.com>\r\nSubject: Letter ${number}\r\nMessage-ID: <letter-${number}@example.com>\r\n${extra}\r\nDear Bob & all, ${number}\r\n`

export const isFetch = (call: string) => /^GET (?:messages|threads)\//.test(call)

export async function expectSame(index: MemoryIndex, client: GmailClient): Promise<void> {
  const held = [...index.messages.values()].map(({ key, mailboxKeys, isRead, isFlagged }) => ({
    key,
    mailboxKeys: mailboxKeys.filter(label => label !== 'ALL_MAIL').toSorted(),
    isRead,
    isFlagged,
  }))
  const there = (await client.messages()).map(({ id, labelIds }) => ({
    key: id,
    mailboxKeys: labelIds.filter(label => !/^(?:UNREAD|STARRED|CATEGORY_.*)$/.test(label)).toSorted(),
    isRead: !labelIds.includes('UNREAD'),
    isFlagged: labelIds.includes('STARRED'),
  }))
  const byKey = (a: { key: unknown }, b: { key: unknown }) => (String(a.key) < String(b.key) ? -1 : 1)
  expect(held.toSorted(byKey)).toEqual(there.toSorted(byKey))
}

/** Takes a step and breaks off before it is recorded. @returns whether there was one */
export async function breakOff(mail: MailProvider, index: MemoryIndex): Promise<boolean> {
  const { cursor, since, skip, retry, messages } = index
  const steps = mail.arrivals('history', {
    cursor,
    known: () => Promise.reject(new Error('Nobody asks')),
    lacking: async keys => keys.filter(key => !messages.has(key)),
    heldDrafts: async () => [],
    since,
    skip,
    retry,
    signal: new AbortController().signal,
  })
  for await (const _ of steps) return true
  return false
}
