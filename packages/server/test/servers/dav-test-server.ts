import type { TestUser } from './mail-server.ts'

/** A DAV server that runs for tests, whatever its make. It speaks HTTP without TLS. */
export interface DavTestServer extends AsyncDisposable {
  readonly kind: 'radicale' | 'xandikos' | 'cyrus' | 'sabre' | 'davical'
  /** A URL that a user would know. */
  readonly url: URL
  /** Makes a user without an address book of his own making. */
  addUser(): Promise<DavTestUser>
}

export interface DavTestUser extends TestUser {
  /** Path of the collection that the address books of the user are in, with a last slash. */
  homePath: string
  /** Path of the collection that the calendars of the user are in, with a last slash. */
  calendarHomePath: string
}
