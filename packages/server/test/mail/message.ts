export interface ExpectedAddress {
  name: string | null
  address: string
}

/** The facts that a correct reader finds in a message. Absent facts are uncertain and not compared. */
export interface ExpectedFacts {
  internetMessageId: string | null
  /** Message-IDs with angle brackets, oldest first; In-Reply-To last if References lacks it. */
  references?: string[]
  subject?: string | null
  from?: ExpectedAddress | null
  to?: ExpectedAddress[]
  cc?: ExpectedAddress[]
  bcc?: ExpectedAddress[]
  replyTo?: ExpectedAddress[]
  sentAt?: Date | null
  importance?: 'high' | 'normal' | 'low'
  hasAttachments?: boolean
  /** The beginning of the text, on one line. */
  snippetStart?: string
}

export interface GeneratedMessage {
  raw: Buffer
  /** `/`-separated, below the server's prefix: see `World.at`. */
  mailbox: string
  flags: string[]
  internalDate: Date
  expected: ExpectedFacts
  /** Its special property, such as `late parent` or `no boundary`, for messages of failing tests. */
  kind: string
  /** Whether a server that refuses NUL, bare line feeds and missing headers (Cyrus) accepts it. */
  fitsStrictServer: boolean
}
