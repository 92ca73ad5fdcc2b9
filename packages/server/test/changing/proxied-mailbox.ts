import type { MessageSet } from '../../src/providers/changing.ts'
import { cursorAt } from '../../src/providers/imap/cursor.ts'
import { imapAccount } from '../../src/providers/imap/mail.ts'
import { Suspicions } from '../../src/providers/imap/suspicions.ts'
import type { Faults } from '../servers/chaos-faults.ts'
import { startChaosProxy } from '../servers/chaos-proxy.ts'
import { attributesOf } from '../servers/imap-values.ts'
import type { MailServer } from '../servers/mail-server.ts'
import { openWorld } from '../servers/world.ts'

export type ProxiedMailbox = Awaited<ReturnType<typeof openProxiedMailbox>>

/** Adds a user to the server, as another client sees it, and connects the adapter over a proxy that makes trouble. */
export async function openProxiedMailbox(server: MailServer, faults: Faults = {}) {
  const user = await server.addUser()
  const world = await openWorld(server, user)
  const proxy = await startChaosProxy(server, faults)
  const connect = () =>
    imapAccount({
      endpoint: { addresses: [proxy.host], servername: 'localhost', port: proxy.port, security: 'none' },
      login: user,
      suspicions: new Suspicions(),
      signal: new AbortController().signal,
    })
  const uids = async (mailbox: string) => {
    await world.uids(mailbox)
    // Only now does the server report everything to the session.
    await world.witness.command('NOOP')
    return world.uids(mailbox)
  }
  return {
    world,
    proxy,
    connect,
    uids,
    /** Messages of INBOX, as an index has them. */
    async inInbox(keys: readonly number[]): Promise<MessageSet> {
      const { untagged } = await world.witness.command('STATUS INBOX (UIDVALIDITY)')
      const status = untagged.find(([kind]) => kind === 'STATUS')
      const uidValidity = Number(attributesOf(status?.[2]).get('UIDVALIDITY'))
      return { source: 'INBOX', cursor: cursorAt(uidValidity, 1), keys }
    },
    async raws(mailbox: string) {
      if ((await uids(mailbox)).length === 0) return []
      const { untagged } = await world.witness.command('UID FETCH 1:* (BODY.PEEK[])')
      return untagged
        .filter(([, name]) => name === 'FETCH')
        .map(([, , list]) => (list as unknown[]).find(Buffer.isBuffer)?.toString())
    },
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]()
      await world[Symbol.asyncDispose]()
    },
  }
}

/** A tagged answer of the server. */
export const TAGGED = /^[0-9A-F]+ (?:OK|NO|BAD)\b/
