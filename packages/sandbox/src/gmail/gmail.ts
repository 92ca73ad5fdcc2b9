import { Hono } from 'hono'
import { googleFault } from '../google/faults.ts'
import type { GoogleGround } from '../google/ground.ts'
import { answerPart } from '../hosting/answer-call.ts'
import type { HostApp, HostEnv } from '../hosting/host-app.ts'
import { InvalidInput, parseInput } from '../world/invalid-input.ts'
import type { Mail } from '../world/post-office.ts'
import type { User } from '../world/users.ts'
import type { Admission } from './api/admission.ts'
import { serveMethod } from './api/serve.ts'
import { serveBatch } from './batch.ts'
import { expireHistory } from './mailbox/history.ts'
import { newMailbox, type Mailbox } from './mailbox/mailbox.ts'
import type { GmailParts } from './parts.ts'
import { openPushes } from './pushes.ts'
import { openQuota } from './quota.ts'
import { fillMailbox } from './seed/fill.ts'
import { mailboxOf, receive } from './sending/receive.ts'
import { DEFAULT_SETTINGS, type GmailSettings, SettingsSchema } from './settings.ts'
import { serveUpload } from './uploads/serve-upload.ts'
import { openSessions, type Sessions } from './uploads/sessions.ts'

/** The mail of all users of Google as Gmail keeps and serves it. */
export interface Gmail {
  /** Answers gmail.googleapis.com. */
  readonly app: HostApp
  /** Makes a mailbox with this number of messages. */
  addUser(user: User, messages: number): void
  /** The mailbox of a user, for programs in this process that save and restore it. */
  mailboxOf(user: User): Mailbox
  /** Finds the user of an alias, or of an address with a tag behind a plus. */
  findByAlias(address: string): User | null
  receive(user: User, mail: Mail): { id: string; threadId: string }
  /** Makes every history id of before now too old, for one user or all. */
  expireHistory(user: User | null): void
  /** Changes how pushes behave; returns the settings. Throws `InvalidInput` for settings that are wrong. */
  configurePushes(settings: unknown): object
  /** Changes how the API behaves; returns the settings. Throws `InvalidInput` for settings that are wrong. */
  configure(settings: unknown): GmailSettings
  close(): void
}

export function openGmail(ground: GoogleGround): Gmail {
  const { accounts, clock, users } = ground
  const random = ground.random.stream('gmail')
  const settings: GmailSettings = { ...DEFAULT_SETTINGS }
  const pushes = openPushes(ground.keys, ground.random.stream('pushes'))
  const mailboxes = new Map<string, Mailbox>()
  const parts: GmailParts = { settings, random, pushes, post: ground.post }
  const admission: Admission = { accounts, mailboxes, quota: openQuota(settings, clock.now, random) }
  return {
    app: routes(parts, admission, openSessions(clock, random), ground),
    addUser(user, messages) {
      const mailbox = newMailbox(user.email, user.name, clock.now)
      mailboxes.set(user.email, mailbox)
      fillMailbox(mailbox, user.name, messages, ground.random.stream(`mail of ${user.email}`))
      mailbox.changed = labels => pushes.notify(mailbox, labels)
    },
    mailboxOf: user => requireMailbox(mailboxes, user),
    findByAlias(address) {
      const mailbox = mailboxOf(mailboxes, address)
      return mailbox ? users.find(mailbox.email) : null
    },
    receive(user, mail) {
      const { id, threadId } = receive(requireMailbox(mailboxes, user), mail)
      return { id, threadId }
    },
    expireHistory(user) {
      for (const mailbox of user ? [requireMailbox(mailboxes, user)] : mailboxes.values())
        expireHistory(mailbox.history)
    },
    configurePushes: pushes.configure,
    configure: given => ({ ...Object.assign(settings, parseInput(SettingsSchema, given)) }),
    close: pushes.close,
  }
}

function requireMailbox(mailboxes: ReadonlyMap<string, Mailbox>, user: User): Mailbox {
  const mailbox = mailboxes.get(user.email)
  if (!mailbox) throw new InvalidInput(`${user.email} has no mailbox.`)
  return mailbox
}

function routes(parts: GmailParts, admission: Admission, sessions: Sessions, ground: GoogleGround): HostApp {
  const app: HostApp = new Hono<HostEnv>()
  app.all('/gmail/v1/users/*', ({ req, env }) => serveMethod(parts, admission, req.raw, env.call))
  for (const path of ['/upload/gmail/v1/users/*', '/resumable/upload/gmail/v1/users/*'])
    app.all(path, ({ req, env }) => serveUpload(parts, admission, sessions, req.raw, env.call))
  for (const path of ['/batch/gmail/v1', '/batch']) {
    app.post(path, ({ req, env }) =>
      serveBatch(parts, ground.accounts, req.raw, env.call, part =>
        answerPart(ground, app, part, env.call, googleFault),
      ),
    )
  }
  return app
}
