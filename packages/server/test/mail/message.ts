export interface ExpectedAddress {
  name: string | null
  address: string
}

/** What a correct reader makes of a message. What is absent cannot be told for sure and is not compared. */
export interface ExpectedFacts {
  internetMessageId: string | null
  /** With angle brackets, oldest first, In-Reply-To last where References lacks it. */
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
  /** What the text begins with, on one line. */
  snippetStart?: string
}

export interface GeneratedMessage {
  raw: Buffer
  /** `/`-separated, below the server's prefix: see `World.at`. */
  mailbox: string
  flags: string[]
  internalDate: Date
  expected: ExpectedFacts
  /** What is special about it, such as `late parent` or `no boundary`; for the words of a failing test. */
  kind: string
  /** Whether a server that refuses NUL, bare line feeds and missing headers takes it (Cyrus). */
  fitsStrictServer: boolean
}
