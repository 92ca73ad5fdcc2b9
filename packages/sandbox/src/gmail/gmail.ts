import { Hono } from 'hono'
import { z } from 'zod'
import type { Accounts } from '../google/accounts.ts'
import { googleFault } from '../google/faults.ts'
import { answerPart } from '../hosting/answer-call.ts'
import type { HostApp, HostEnv } from '../hosting/host-app.ts'
import { InvalidInput, parseInput } from '../world/invalid-input.ts'
import type { User } from '../world/users.ts'
import type { Ground } from '../world/world.ts'
import { serveMethod } from './api/serve.ts'
import { serveBatch } from './batch.ts'
import { expireHistory } from './mailbox/history.ts'
import { newMailbox, type Mailbox } from './mailbox/mailbox.ts'
import { openPushes } from './pushes.ts'
import { openQuota } from './quota.ts'
import { fillMailbox } from './seed/fill.ts'
import { receive } from './sending/send.ts'
import { DEFAULT_SETTINGS, type GmailSettings } from './settings.ts'
import type { GmailState } from './state.ts'
import { openUploads, serveUpload } from './uploads.ts'

/** The mail of all users as Gmail keeps and serves it. */
export interface Gmail {
  /** Answers gmail.googleapis.com. */
  readonly app: HostApp
  /** Makes a mailbox with this number of messages. */
  addUser(user: User, messages: number): void
  /** The mailbox of a user, for programs in this process that save and restore it. */
  mailboxOf(user: User): Mailbox
  /** Takes a message from outside, by SMTP or by the control API. */
  deliver(user: User, message: Uint8Array): { id: string; threadId: string }
  /** Makes every history id of before now too old, for one user or all. */
  expireHistory(user: User | null): void
  /** Changes how pushes behave; returns the settings. Throws `InvalidInput` for settings that are wrong. */
  configurePushes(settings: unknown): object
  /** Changes how the API behaves; returns the settings. Throws `InvalidInput` for settings that are wrong. */
  configure(settings: unknown): GmailSettings
  close(): void
}

const SettingsSchema = z
  .strictObject({
    quota: z.enum(['standard', 'classic', 'off']),
    unitsPerMinute: z.int().min(1).nullable(),
    projectUnitsPerMinute: z.int().min(1),
    quotaAnswer: z.union([z.literal(403), z.literal(429), z.literal('mixed')]),
    emptyHistoryPages: z.boolean(),
    repeatedHistory: z.boolean(),
    overwriteMessageIds: z.boolean(),
    shuffledBatches: z.boolean(),
    disorderedLists: z.boolean(),
  })
  .partial()

export function openGmail(ground: Ground & { accounts: Accounts }): Gmail {
  const random = ground.random.stream('gmail')
  const settings: GmailSettings = { ...DEFAULT_SETTINGS }
  const state: GmailState = {
    ground: { ...ground, random },
    settings,
    mailboxes: new Map(),
    quota: openQuota(settings, ground.clock.now, random),
    uploads: openUploads(),
    pushes: openPushes(ground.keys, ground.random.stream('pushes')),
  }
  return {
    app: routes(state),
    addUser(user, messages) {
      const mailbox = newMailbox(user.email, user.name, ground.clock.now)
      state.mailboxes.set(user.email, mailbox)
      fillMailbox(mailbox, user.name, messages, ground.random.stream(`mail of ${user.email}`))
      mailbox.changed = labels => state.pushes.notify(mailbox, labels)
    },
    mailboxOf: user => requireMailbox(state, user),
    deliver(user, message) {
      const { id, threadId } = receive(requireMailbox(state, user), Buffer.from(message))
      return { id, threadId }
    },
    expireHistory(user) {
      const mailboxes = user ? [requireMailbox(state, user)] : state.mailboxes.values()
      for (const mailbox of mailboxes) expireHistory(mailbox.history)
    },
    configurePushes: given => state.pushes.configure(given),
    configure: given => ({ ...Object.assign(settings, parseInput(SettingsSchema, given)) }),
    close: () => state.pushes.close(),
  }
}

function requireMailbox(state: GmailState, user: User): Mailbox {
  const mailbox = state.mailboxes.get(user.email)
  if (!mailbox) throw new InvalidInput(`${user.email} has no mailbox.`)
  return mailbox
}

function routes(state: GmailState): HostApp {
  const app: HostApp = new Hono<HostEnv>()
  app.all('/gmail/v1/users/*', context => serveMethod(state, context.req.raw, context.env.call))
  app.all('/upload/gmail/v1/users/*', context => serveUpload(state, context.req.raw, context.env.call))
  app.all('/resumable/upload/gmail/v1/users/*', context =>
    serveUpload(state, context.req.raw, context.env.call),
  )
  for (const path of ['/batch/gmail/v1', '/batch']) {
    app.post(path, ({ req, env }) =>
      serveBatch(state, req.raw, env.call, part =>
        answerPart(state.ground, app, part, env.call, googleFault),
      ),
    )
  }
  return app
}
