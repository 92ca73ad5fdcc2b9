import { afterAll, beforeAll } from 'vitest'
import { startCyrus } from './cyrus.ts'
import { startDovecot } from './dovecot.ts'
import type { MailServer } from './mail-server.ts'

/** The servers that every promise of the IMAP adapter is kept on, for `describe.each`. */
export const SERVER_KINDS = [
  { name: 'Dovecot', start: () => startDovecot() },
  { name: 'a poor Dovecot', start: () => startDovecot({ flavour: 'poor' }) },
  { name: 'Cyrus', start: () => startCyrus() },
] as const

/** The same server, for a test that disposes the one it is given: this one stays. */
export function lend<S extends AsyncDisposable>(server: S): S {
  return { ...server, [Symbol.asyncDispose]: async () => {} }
}

/** One server for all tests of a file or a `describe`; each test adds users of its own. */
export function useServer<S extends AsyncDisposable = MailServer>(start: () => Promise<S>): () => S {
  let server: S | undefined
  beforeAll(async () => {
    server = await start()
  })
  afterAll(async () => server?.[Symbol.asyncDispose]())
  return () => {
    if (!server) throw new Error('the server runs only while tests do')
    return server
  }
}
