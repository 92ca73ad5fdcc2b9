import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import type { ChangeEvent } from '@waxwing/contract/events.ts'
import { afterAll, beforeAll } from 'vitest'
import type { Caller } from './caller.ts'
import { type TestApp, type TestAppOptions, openTestApp } from './open-app.ts'
import { makeCertificates } from './servers/certificate.ts'
import { type DovecotServer, startDovecot } from './servers/dovecot.ts'
import type { TestUser } from './servers/mail-server.ts'
import { type SmtpSink, type SmtpSinkOptions, startSmtpSink } from './servers/smtp-sink.ts'

/**
 * Starts an IMAP server for all tests of a file, makes certificates for others, and opens an API that trusts them all.
 */
export function useImapAccounts() {
  let dovecot: DovecotServer | undefined
  let certificates = ''
  let authorities = ''
  beforeAll(async () => {
    dovecot = await startDovecot({ tls: true })
    certificates = await mkdtemp(join(tmpdir(), 'waxwing-certificates-'))
    authorities = `${dovecot.ca}\n${await makeCertificates(certificates)}`
  })
  afterAll(async () => {
    await dovecot?.[Symbol.asyncDispose]()
    await rm(certificates, { recursive: true })
  })
  const server = () => {
    if (!dovecot) throw new Error('the server runs only while tests do')
    return dovecot
  }
  /** Options of an API that may reach the servers of this test and trusts their certificates. */
  const appOptions = (options: TestAppOptions = {}): TestAppOptions => ({
    egressAllow: ['localhost'],
    resolve: async () => ['127.0.0.1'],
    certificateAuthority: authorities,
    ...options,
  })
  return {
    get dovecot() {
      return server()
    },
    /** The folder with the files of `makeCertificates`. */
    get certificates() {
      return certificates
    },
    /** PEM of all their authorities. */
    get authorities() {
      return authorities
    },
    appOptions,
    /** Opens the API, which may reach the servers of this test and trusts their certificates. */
    openApp: (options: TestAppOptions = {}): Promise<TestApp> => openTestApp(appOptions(options)),
    openSmtp({ user, password }: TestUser, options: Partial<SmtpSinkOptions> = {}): Promise<SmtpSink> {
      return startSmtpSink({ user, password, certificates, ...options })
    },
    /** The body of a request that connects the user's mailbox. */
    connection(user: TestUser, smtp: SmtpSink | null = null) {
      return {
        email: user.email,
        password: user.password,
        imap: { host: 'localhost', port: server().tlsPort, security: 'tls' },
        smtp: smtp && { host: 'localhost', port: smtp.port, security: 'starttls' },
      }
    },
  }
}

export async function eventsOf(app: Pick<Caller, 'get'>): Promise<ChangeEvent[]> {
  const { body } = await app.get<{ items: ChangeEvent[] }>('/v1/changes?limit=200')
  return body.items
}

export async function accountCount(app: Pick<Caller, 'get'>): Promise<number> {
  const { body } = await app.get<{ items: Account[] }>('/v1/accounts')
  return body.items.length
}
