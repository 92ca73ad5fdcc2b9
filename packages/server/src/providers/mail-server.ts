export interface MailServer {
  host: string
  port: number
  security: 'tls' | 'starttls' | 'none'
  user: string
}

/** Logs in to a server and out again. Throws `ProviderFailure`. */
export interface ServerCheck {
  imap(server: MailServer, password: string): Promise<void>
  smtp(server: MailServer, password: string): Promise<void>
}
