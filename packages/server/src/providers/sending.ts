/**
 * The vocabulary in which the service hands messages over to a provider: by SMTP, or as one request over HTTP.
 *
 * A refusal is a value: the provider answered, it is about this message or some of its recipients, and the connection
 * is good for the next message. A thrown `ProviderFailure` is one of two things. With `isBeforeAcceptance`, nothing was
 * accepted, and the account or its server is the cause (connection, TLS, login, 421, 4.7.x to MAIL, a quota): other
 * messages of the account would fail in the same way. Without it, the outcome is unknown: call `lookUp`.
 */

/** Limits of the provider, as it last announced them. */
export interface SendingLimits {
  /** Bytes of a message; null if it announces no limit. */
  messageBytesMax: number | null
  /** Whether lines may have bytes beyond ASCII (8BITMIME). Without it they should be encoded. */
  has8BitMime: boolean
  /** Whether addresses and header fields may be UTF-8 (SMTPUTF8). */
  hasSmtpUtf8: boolean
  /** Whether it sends delivery reports on request (DSN). */
  hasDsn: boolean
  /**
   * Whether it reads the recipients from the header, and removes Bcc from the message that they get. Otherwise the
   * envelope has them, and the content must not have Bcc.
   */
  readsHeader: boolean
}

/**
 * Sender and recipients of the hand-over. Each is `local@domain` with the domain as A-labels; a local part may be
 * UTF-8.
 */
export interface Envelope {
  from: string
  /** At least one, each once. */
  to: readonly string[]
}

/** A complete message. Lines end with CRLF and have at most 998 bytes. */
export interface OutgoingContent {
  /** Exactly how many bytes `open` yields. */
  byteLength: number
  /** Whether the body has bytes beyond ASCII. */
  is8Bit: boolean
  /** Whether the header has bytes beyond ASCII. */
  hasUtf8Header: boolean
  /** The bytes from the first; called again for each attempt. If it fails, the message is certainly not accepted. */
  open(): AsyncIterable<Uint8Array>
  split?: SplitContent
}

/**
 * Takes a message apart for a provider that takes only small messages whole, and the largest files beside them: as few
 * files as possible are left out, until the rest has at most `restBytesMax` bytes. Null if that is not possible: the text
 * is too large, or the files are signed or encrypted with it.
 */
export type SplitContent = (restBytesMax: number) => Promise<ContentInParts | null>

/** A message in parts, which are read one at a time. Disposing ends the reading of a part. */
export interface ContentInParts extends AsyncDisposable {
  /** The message without the parts. */
  rest: { byteLength: number; open(): AsyncIterable<Uint8Array> }
  /** The files that are left out, in the order of the message. They are read fastest in this order. */
  parts: readonly OutgoingPart[]
}

/** A file of a message. */
export interface OutgoingPart {
  filename: string | null
  /** `type/subtype`, for a text with its charset if it names one. */
  contentType: string
  /** Without angle brackets. */
  contentId: string | null
  isInline: boolean
  /** Decoded. */
  byteLength: number
  /** The decoded bytes, from the first. */
  open(): AsyncIterable<Uint8Array>
}

export interface OutgoingMessage {
  envelope: Envelope
  content: OutgoingContent
  /** With angle brackets, as the content has it. */
  internetMessageId: string
  /** Value of its field `X-Waxwing-Outbox`. */
  outboxId: string
  /** Whether an earlier attempt may have left a copy that was prepared at the provider, and never sent. */
  mayBePrepared: boolean
  /** ENVID of delivery reports: visible ASCII, at most 100 characters. */
  envelopeId: string
  /** The provider's thread that it replies to, if the provider keeps threads. */
  threadId: string | null
  /**
   * Awaited directly before the first request that may leave such a copy. If it rejects, nothing is left, and `send`
   * rejects with the same error.
   */
  beforePreparing(): Promise<void>
  /**
   * Awaited directly before the step that cannot be taken back: the dot that ends the data, or the request that sends.
   * If it rejects, nothing is handed over, and `send` rejects with the same error. `trace` is the adapter's own note
   * for `lookUp`. It is called again if the message is tried over another connection, after the first certainly
   * accepted nothing.
   */
  beforeHandOver(trace: string | null): Promise<void>
  /** Gives up before the hand-over; the answer to a hand-over is awaited. */
  signal: AbortSignal
}

/** The answer of a provider that does not accept a message for a recipient. */
export interface Refusal {
  /** `recipient`: it refuses this address. `message`: it refuses the sender, the message or its content. */
  of: 'recipient' | 'message'
  /** False if the same may be accepted later. */
  isPermanent: boolean
  /** Whether the size is the reason. */
  isTooLarge: boolean
  /** Enhanced status code (RFC 3463), such as `5.1.1`; `5.0.0` or `4.0.0` if the provider gave none. */
  status: string
  /** The provider's text for people: printable, on one line, at most 200 characters. */
  message: string
}

export interface RecipientOutcome {
  address: string
  /** null: accepted. */
  refusal: Refusal | null
}

export interface SendOutcome {
  /** One for each recipient of the envelope, in its order. */
  recipients: RecipientOutcome[]
  /** The provider's facts about the accepted message; each is null if it reports none. */
  given: {
    /** The key of the copy that it filed. Its Message-ID may be another one than ours. */
    key: string | null
    threadId: string | null
  }
}

/** A message whose outcome is unknown. */
export interface HandedOver {
  /** With angle brackets. */
  internetMessageId: string
  /** Value of its field `X-Waxwing-Outbox`. */
  outboxId: string
  /** The trace that was passed to `beforeHandOver`. */
  trace: string | null
  handedOverAt: Date
}

/** A message that is not sent any more, of which attempts may have left copies that were prepared. */
export interface Prepared {
  /** With angle brackets. */
  internetMessageId: string
  /** The trace that was last passed to `beforeHandOver`. */
  trace: string | null
}

/**
 * `accepted` and `not_accepted` are proven; `key` belongs to the filed copy, if the provider shows it. `absent`: a
 * complete look did not find it, which proves that it was not accepted once it can no longer be under way. `not_known`:
 * there is no proof, or not yet; the copy in the mailbox of sent mail may still show it.
 */
export type LookUp =
  | { outcome: 'accepted'; key: string | null }
  | { outcome: 'not_accepted' | 'absent' | 'not_known' }

/** Hands messages over, one at a time. Every method throws `ProviderFailure`. */
export interface SendingProvider {
  readonly limits: SendingLimits

  /** Whether the provider files a copy of each accepted message as sent mail. `sometimes`: look before filing one. */
  readonly filesCopy: 'always' | 'sometimes'

  /** Also rejects with the error of `beforeHandOver` or `content`; then nothing was accepted. */
  send(message: OutgoingMessage): Promise<SendOutcome>

  lookUp(message: HandedOver): Promise<LookUp>

  /** Removes prepared copies that were not sent. Only of a provider that prepares messages. */
  discard?(message: Prepared): Promise<void>
}
