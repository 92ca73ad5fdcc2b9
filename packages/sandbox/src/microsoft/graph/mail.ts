import type { HostApp } from '../../hosting/host-app.ts'
import type { Ground } from '../../world/ground.ts'
import { parseInput } from '../../world/invalid-input.ts'
import type { Mail } from '../../world/post-office.ts'
import type { ExpireInput } from '../../world/provider.ts'
import type { User } from '../../world/users.ts'
import type { Cloud } from '../clouds.ts'
import { fillMailbox } from '../mailbox/fill.ts'
import type { Mailbox } from '../mailbox/mailbox.ts'
import { openMailboxes } from '../mailbox/mailboxes.ts'
import { newMailbox } from '../mailbox/new-mailbox.ts'
import { receive } from '../sending/receive.ts'
import type { GraphCaller } from './authenticate.ts'
import { noteReply } from './calendars/incoming-replies.ts'
import { expireLinks } from './delta-tokens.ts'
import type { GraphParts } from './parts.ts'
import { serveMail } from './serve.ts'
import { DEFAULT_GRAPH_SETTINGS, type GraphSettings, GraphSettingsSchema } from './settings.ts'
import { uploadHost } from './upload-sessions.ts'
import { openWriting, type Writing, type WritingSettings, WritingSettingsSchema } from './writing.ts'

/** The mail, the contacts and the calendars of all users of Microsoft as Exchange keeps them and Graph serves them. */
export interface GraphMail {
  /** Makes a mailbox with this number of messages. If they are few, they are made when it is first asked for. */
  addUser(user: User, messages: number): Mailbox
  /** The mailbox of a user. Throws `InvalidInput` if there is none. */
  mailboxOf(user: Pick<User, 'email'>): Mailbox
  receive(user: User, mail: Mail): { id: string }
  /** Answers a call of an app whose token was checked. `path` is below the owner's /v1.0/users/{id}/. */
  serve(caller: GraphCaller, owner: User, path: string, request: Request): Promise<Response>
  /** Makes delta links too old. */
  expire(input: Pick<ExpireInput, 'user' | 'at'>): void
  /** Changes how the API behaves; returns the settings. Throws `InvalidInput` for settings that are wrong. */
  configure(settings: unknown): GraphSettings & WritingSettings
  readonly writing: Writing
  /** Answers the host of the upload sessions of a cloud. */
  uploadHost(cloud: Cloud): HostApp
  close(): void
}

/** Messages of a mailbox that is filled when somebody asks for it; a larger one is filled at once. */
const FILLED_LATE_MAX = 500

export function openGraphMail(ground: Pick<Ground, 'clock' | 'random' | 'post'>): GraphMail {
  const { clock, post } = ground
  const random = ground.random.stream('graph')
  const settings = { ...DEFAULT_GRAPH_SETTINGS }
  const mailboxes = openMailboxes()
  const mailboxOf = (user: Pick<User, 'email'>): Mailbox => mailboxes.of(user)
  const writing = openWriting(ground)
  const parts: GraphParts = { settings, writing, clock, random, post, mailboxOf }
  return {
    mailboxOf,
    writing,
    addUser(user, messages) {
      const mailbox = newMailbox(user.email, user.name, clock.now)
      const at = clock.now()
      mailboxes.add(user, mailbox, () =>
        fillMailbox(mailbox, messages, ground.random.stream(`mail of ${user.email}`), at),
      )
      // The first call to a large mailbox would take seconds.
      if (messages > FILLED_LATE_MAX) mailboxOf(user)
      mailbox.logsArrival = () =>
        settings.arrivals === 'told' || (settings.arrivals === 'random' && random.integer(2) === 0)
      return mailbox
    },
    receive(user, mail) {
      const mailbox = mailboxOf(user)
      const { immutableId: id, raw } = receive(mailbox, mail)
      // Within Exchange, the calendar of the organizer knows of a response before its mail arrives.
      if (post.findUser(mail.from ?? '')?.provider !== 'microsoft') noteReply(mailbox, raw)
      return { id }
    },
    serve(caller, owner, path, request) {
      const { client, cloud, scopes, roles, user } = caller
      // An app that acts for itself has the permissions of the mailbox's owner.
      const acting = user ? { user, scopes } : { user: owner, scopes: roles }
      return serveMail(parts, {
        request,
        url: urlAt(cloud.graphHost, request),
        path,
        caller: { ...acting, clientId: client.clientId },
        owner,
        abilities: cloud.has,
      })
    },
    expire({ user, at }) {
      for (const mailbox of user ? [mailboxOf(user)] : mailboxes.list()) expireLinks(mailbox, at)
    },
    configure(given) {
      const own = Object.keys(WritingSettingsSchema.shape)
      const both = GraphSettingsSchema.extend(WritingSettingsSchema.partial().shape)
      for (const [name, value] of Object.entries(parseInput(both, given)))
        Object.assign(own.includes(name) ? writing.settings : settings, { [name]: value })
      return { ...settings, ...writing.settings }
    },
    uploadHost: cloud => uploadHost(writing, cloud, clock.now),
    close: () => writing.close(),
  }
}

/** The URL of a request at the host that the sandbox plays. */
function urlAt(host: string, request: Request): URL {
  const url = new URL(request.url)
  return new URL(`https://${host}${url.pathname}${url.search}`)
}
