import { randomBytes } from 'node:crypto'

export interface TestUser {
  /** Name for the login. */
  user: string
  password: string
  email: string
}

/** A mail server that runs for tests, whatever its make. */
export interface MailServer extends AsyncDisposable {
  readonly kind: 'dovecot' | 'dovecot-poor' | 'cyrus'
  readonly host: string
  /** Where its clients connect, in the clear (and with STARTTLS where it was started with TLS). */
  readonly port: number
  /** Where clients connect by TLS; null where it was started without. */
  readonly tlsPort: number | null
  /** The certificate authority to trust, as PEM; null without TLS. */
  readonly ca: string | null
  /** Past everything that makes the server look poor: for the witness who arranges and reads the truth. */
  readonly directPort: number
  readonly separator: '/' | '.'
  /** Prefix of the name of each mailbox but INBOX. */
  readonly prefix: '' | 'INBOX.'
  readonly logFile: string
  /** The process group that all its processes are in. */
  readonly processGroup: number

  /** Makes a user with an empty mailbox; a name is made up where none is given. */
  addUser(name?: string): Promise<TestUser>
  /** Returns once the server refuses the old password. */
  setPassword(user: TestUser, password: string): Promise<TestUser>
  /** Gives a mailbox another UIDVALIDITY; its messages stay as they are. */
  renumber(user: TestUser, mailbox: string): Promise<void>
  /** Ends the connections of a user, or of everybody. */
  kick(user?: TestUser): Promise<void>
}

/** Where a mail transport agent delivers the mail of a domain. */
export interface LmtpServer {
  readonly domain: string
  readonly lmtpPort: number
}

export function makeUpName(): string {
  return `user-${randomBytes(5).toString('hex')}`
}
