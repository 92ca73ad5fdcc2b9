import type { DavHomes, DavServer } from './dav-server.ts'

export type OnAsked = () => Promise<void>

export interface MailServer {
  host: string
  port: number
  security: 'tls' | 'starttls' | 'none'
  user: string
}

/**
 * Logs in to a server and out again. Throws `ProviderFailure`, and errors of `onAsked`, which is called before a
 * connection to a server that may be reached.
 */
export interface ServerCheck {
  imap(server: MailServer, password: string, onAsked?: OnAsked): Promise<void>
  smtp(server: MailServer, password: string, onAsked?: OnAsked): Promise<void>
  /**
   * Finds the homes of calendars and contacts. Fails also as `rejected`, with the reason `not_dav_server` or
   * `dav_discovery_failed`, and as `unsupported` with the reason `dav_unsupported`. `onAsked` may be called several times.
   */
  dav(server: DavServer, password: string, onAsked?: OnAsked): Promise<DavHomes>
}
