import { findFolder } from '../mailbox/mailbox.ts'
import type { Mailbox } from '../mailbox/mailbox.ts'
import type { User } from '../../world/users.ts'
import { graphIdOf } from '../ids.ts'
import type { GraphCaller } from './authenticate.ts'
import { accessDenied, badRequest, GraphRefusal } from './errors.ts'
import { READ_CALENDARS, READ_CONTACTS } from './method.ts'
import type { Notifier } from './notify.ts'
import { preferencesOf } from './prefer.ts'
import {
  CHANGE_TYPES,
  type ChangeType,
  type Subscription,
  type SubscriptionStore,
  type WatchedItems,
} from './subscription-store.ts'

const MINUTE_MS = 60_000
const MINUTES_MIN = 45
const MINUTES_MAX = 10_080
const CLIENT_STATE_MAX = 128

/** Any one of them lets an app subscribe to the items. */
const READ: Readonly<Record<WatchedItems, readonly string[]>> = {
  messages: ['Mail.ReadBasic', 'Mail.Read', 'Mail.ReadWrite'],
  contacts: READ_CONTACTS,
  events: READ_CALENDARS,
}

/** Parts of Graph that the methods of subscriptions use. */
export interface SubscriptionParts {
  readonly store: SubscriptionStore
  readonly notifier: Notifier
  readonly now: () => number
  mailboxOf(user: User): Mailbox
  /** Finds the owner of a mailbox by `me`, an id or an address. Throws what Graph answers otherwise. */
  ownerOf(caller: GraphCaller, name: string): User
}

/** Answers a call below /v1.0/subscriptions. `path` is what follows, without its slash. */
export async function serveSubscriptions(
  parts: SubscriptionParts,
  caller: GraphCaller,
  path: string,
  request: Request,
): Promise<Response> {
  const [id, action, ...rest] = path.split('/').filter(Boolean)
  if (rest.length > 0 || (action !== undefined && action !== 'reauthorize')) throw unsupported()
  const { method } = request
  if (id === undefined) {
    if (method === 'POST') return create(parts, caller, request)
    if (method === 'GET') return list(parts, caller)
    throw unsupported()
  }
  const subscription = requireSubscription(parts, caller, id)
  if (action === 'reauthorize') {
    if (method !== 'POST') throw unsupported()
    subscription.isPaused = false
    return new Response(null, { status: 204 })
  }
  if (method === 'GET') return shown(caller, subscription, 200)
  if (method === 'PATCH') return change(parts, caller, subscription, request)
  if (method !== 'DELETE') throw unsupported()
  parts.store.remove(subscription.id)
  return new Response(null, { status: 204 })
}

const unsupported = (): GraphRefusal =>
  new GraphRefusal(405, 'ErrorInvalidRequest', 'The OData request is not supported.')

const isOf = ({ user, client }: GraphCaller, { appId, creatorId }: Subscription): boolean =>
  appId === client.clientId && (user === null || creatorId === graphIdOf(user))

function requireSubscription({ store }: SubscriptionParts, caller: GraphCaller, id: string): Subscription {
  const subscription = store.find(id)
  if (!subscription || !isOf(caller, subscription))
    throw new GraphRefusal(404, 'ResourceNotFound', 'The object was not found.')
  return subscription
}

async function create(
  { store, notifier, now, ...parts }: SubscriptionParts,
  caller: GraphCaller,
  request: Request,
): Promise<Response> {
  const json = await jsonIn(request)
  const clientState = textIn(json, 'clientState')
  if ((clientState?.length ?? 0) > CLIENT_STATE_MAX)
    throw badRequest('The clientState has more than 128 characters.', 'InvalidRequest')
  if (json['includeResourceData'] === true)
    throw badRequest('includeResourceData is not offered for this resource.', 'InvalidRequest')
  const resource = textIn(json, 'resource') ?? ''
  const { owner, of, folderId } = watchedBy(parts, caller, resource)
  const notificationUrl = urlIn(json, 'notificationUrl')
  if (notificationUrl === null) throw badRequest('The notificationUrl is missing.', 'InvalidRequest')
  const lifecycleUrl = urlIn(json, 'lifecycleNotificationUrl')
  const changeTypes = changeTypesIn(json)
  const expiresAt = expiryIn(json, now(), notifier)
  for (const url of [notificationUrl, ...(lifecycleUrl === null ? [] : [lifecycleUrl])])
    if (!(await notifier.validate(url))) throw notValidated()
  const subscription = store.add({
    email: owner.email,
    creatorId: graphIdOf(owner),
    tenantId: caller.tenant.id,
    appId: caller.client.clientId,
    resource,
    of,
    folderId,
    changeTypes,
    notificationUrl,
    lifecycleUrl,
    clientState,
    isImmutable: preferencesOf(request.headers).immutableIds,
    expiresAt,
  })
  if (!subscription)
    throw new GraphRefusal(403, 'ExtensionError', 'The mailbox has as many subscriptions as it may have.')
  return shown(caller, subscription, 201)
}

const notValidated = (): GraphRefusal =>
  badRequest(
    'Subscription validation request failed. Notification endpoint must respond with 200 OK to validation request.',
    'ValidationError',
  )

function list({ store }: SubscriptionParts, caller: GraphCaller): Response {
  const own = store.list().filter(subscription => isOf(caller, subscription))
  return Response.json({
    '@odata.context': contextAt(caller, ''),
    value: own.map(subscription => present(subscription)),
  })
}

async function change(
  { notifier, now }: SubscriptionParts,
  caller: GraphCaller,
  subscription: Subscription,
  request: Request,
): Promise<Response> {
  const json = await jsonIn(request)
  const other = Object.keys(json).find(
    name => !name.includes('@') && name !== 'expirationDateTime' && name !== 'notificationUrl',
  )
  if (other !== undefined) throw badRequest(`The property '${other}' cannot be changed.`, 'InvalidRequest')
  const url = urlIn(json, 'notificationUrl')
  const expiresAt = 'expirationDateTime' in json ? expiryIn(json, now(), notifier) : subscription.expiresAt
  if (url !== null && !(await notifier.validate(url))) throw notValidated()
  if (url !== null) subscription.notificationUrl = url
  subscription.expiresAt = expiresAt
  // A renewal comes with a good token, so it reauthorizes the subscription, too.
  subscription.isPaused = false
  return shown(caller, subscription, 200)
}

const RESOURCE =
  /^\/?(?:me|users\/([^/]+)|users\('([^']+)'\))\/(?:(mailFolders|contactFolders|calendars)(?:\/([^/]+)|\('([^']+)'\))\/)?(messages|contacts|(?:calendar\/)?events)$/i
const FOLDERS_OF = { messages: 'mailfolders', contacts: 'contactfolders', events: 'calendars' } as const

/** The mailbox and the folder or calendar of a resource. With a user's token it has to be the user's own mailbox. */
function watchedBy(
  { ownerOf, mailboxOf }: Pick<SubscriptionParts, 'ownerOf' | 'mailboxOf'>,
  caller: GraphCaller,
  resource: string,
): { owner: User; of: WatchedItems; folderId: string | null } {
  const [, slashed, keyed, folders, folderSlashed, folderKeyed, items] = RESOURCE.exec(resource) ?? []
  const asked = items?.toLowerCase()
  const of = asked === 'contacts' || asked === 'messages' ? asked : 'events'
  const isMain = asked === 'calendar/events'
  if (items === undefined || (folders !== undefined && (isMain || folders.toLowerCase() !== FOLDERS_OF[of])))
    throw badRequest(`The resource '${resource}' cannot be subscribed to.`, 'InvalidRequest')
  const owner = ownerOf(caller, decodeURIComponent(slashed ?? keyed ?? 'me'))
  const permissions = caller.user ? caller.scopes : caller.roles
  if ((caller.user && owner !== caller.user) || !READ[of].some(name => permissions.includes(name)))
    throw accessDenied()
  const name = folderSlashed ?? folderKeyed
  const mailbox = mailboxOf(owner)
  if (isMain) return { owner, of, folderId: mailbox.calendars.main.id }
  if (name === undefined) return { owner, of, folderId: null }
  const id = decodeURIComponent(name)
  const folder = folderFinders[of](mailbox, id)
  if (!folder) throw new GraphRefusal(404, 'ResourceNotFound', 'The folder of the resource was not found.')
  return { owner, of, folderId: folder.id }
}

const folderFinders: Readonly<
  Record<WatchedItems, (mailbox: Mailbox, id: string) => { id: string } | null | undefined>
> = {
  messages: findFolder,
  contacts: ({ contacts }, id) => contacts.folders.get(id),
  events: ({ calendars }, id) => calendars.own.get(id),
}

function changeTypesIn(json: Record<string, unknown>): ReadonlySet<ChangeType> {
  const given = (textIn(json, 'changeType') ?? '').split(',').map(one => one.trim().toLowerCase())
  const types = CHANGE_TYPES.filter(type => given.includes(type))
  if (types.length === 0 || types.length !== new Set(given).size)
    throw badRequest('The changeType is invalid: created, updated and deleted are known.', 'InvalidRequest')
  return new Set(types)
}

/** Expiry of a subscription: the time that was asked for, but at least 45 and at most 10,080 minutes from now. */
function expiryIn(json: Record<string, unknown>, now: number, { settings }: Notifier): number {
  const asked = Date.parse(textIn(json, 'expirationDateTime') ?? '')
  if (Number.isNaN(asked) || asked <= now)
    throw badRequest('The expirationDateTime is missing or in the past.', 'InvalidRequest')
  if (asked > now + MINUTES_MAX * MINUTE_MS)
    throw badRequest(
      `Subscription expiration can only be ${MINUTES_MAX} minutes in the future.`,
      'InvalidRequest',
    )
  const longest = now + settings.minutesMax * MINUTE_MS
  return Math.min(Math.max(asked, now + MINUTES_MIN * MINUTE_MS), longest)
}

/** An endpoint for notices: https, or a program on this machine. */
function urlIn(json: Record<string, unknown>, name: string): string | null {
  const text = textIn(json, name)
  if (text === null) return null
  const url = URL.canParse(text) ? new URL(text) : null
  const isLoopback = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url?.hostname ?? '')
  if (url?.protocol !== 'https:' && !(url?.protocol === 'http:' && isLoopback))
    throw badRequest(`The ${name} has to be an https URL.`, 'ValidationError')
  return text
}

function textIn(json: Record<string, unknown>, name: string): string | null {
  const value = json[name]
  if (value === undefined || value === null) return null
  if (typeof value !== 'string') throw badRequest(`The ${name} has to be a string.`, 'InvalidRequest')
  return value
}

async function jsonIn(request: Request): Promise<Record<string, unknown>> {
  try {
    const value: unknown = await request.json()
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>
  } catch {
    // It is refused below, like every body that is not an object.
  }
  throw badRequest('Unable to read JSON request payload.')
}

const contextAt = ({ cloud }: GraphCaller, ending: string): string =>
  `https://${cloud.graphHost}/v1.0/$metadata#subscriptions${ending}`

const shown = (caller: GraphCaller, subscription: Subscription, status: number): Response =>
  Response.json({ '@odata.context': contextAt(caller, '/$entity'), ...present(subscription) }, { status })

/** A subscription as Graph answers it. */
export const present = (subscription: Subscription): object => ({
  id: subscription.id,
  resource: subscription.resource,
  applicationId: subscription.appId,
  changeType: [...subscription.changeTypes].join(','),
  clientState: subscription.clientState,
  notificationUrl: subscription.notificationUrl,
  notificationQueryOptions: null,
  lifecycleNotificationUrl: subscription.lifecycleUrl,
  expirationDateTime: new Date(subscription.expiresAt).toISOString(),
  creatorId: subscription.creatorId,
  includeResourceData: null,
  latestSupportedTlsVersion: 'v1_2',
  encryptionCertificate: null,
  encryptionCertificateId: null,
  notificationUrlAppId: null,
})
