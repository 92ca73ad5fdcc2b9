import type { Random } from '../../world/random.ts'
import type { User } from '../../world/users.ts'
import type { Mailbox } from '../mailbox/mailbox.ts'
import type { Message } from '../mailbox/message.ts'
import type { NewAttachment } from '../mailbox/mime-out.ts'

/** An attachment that comes in ranges. */
export interface UploadSession {
  readonly id: string
  /** Secret in the URL, which proves that the client may upload: these hosts take no access token. */
  readonly token: string
  readonly owner: User
  readonly mailbox: Mailbox
  readonly message: Message
  readonly attachment: Omit<NewAttachment, 'bytes'>
  readonly size: number
  readonly chunks: Buffer[]
  received: number
  /** Milliseconds since 1970, by the sandbox's clock. */
  readonly expiresAt: number
}

export interface UploadSessions {
  open(upload: Pick<UploadSession, 'owner' | 'mailbox' | 'message' | 'attachment' | 'size'>): UploadSession
  /** Returns null for a session that is unknown or has expired. */
  find(id: string): UploadSession | null
  end(id: string): void
}

const SESSION_MS = 24 * 3600 * 1000
const SESSIONS_MAX = 1_000

export function openUploadSessions(now: () => number, random: Random): UploadSessions {
  const sessions = new Map<string, UploadSession>()
  return {
    open(upload) {
      const session = {
        ...upload,
        id: `AAMk${random.letters(60)}`,
        token: random.letters(80),
        chunks: [],
        received: 0,
        expiresAt: now() + SESSION_MS,
      }
      const [oldest] = sessions.keys()
      if (sessions.size >= SESSIONS_MAX && oldest !== undefined) sessions.delete(oldest)
      sessions.set(session.id, session)
      return session
    },
    find(id) {
      const session = sessions.get(id)
      return session && session.expiresAt > now() ? session : null
    },
    end: id => void sessions.delete(id),
  }
}
