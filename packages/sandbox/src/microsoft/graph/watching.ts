import type { ControlApp } from '../../control/routes.ts'
import type { User } from '../../world/users.ts'
import type { MicrosoftGround } from '../ground.ts'
import type { Mailbox } from '../mailbox/mailbox.ts'
import { type GraphCaller, requireOwner } from './authenticate.ts'
import type { GraphMail } from './mail.ts'
import { type NoticeSettings, openNotifier } from './notify.ts'
import { subscriptionControls } from './subscription-controls.ts'
import { openSubscriptionStore } from './subscription-store.ts'
import { serveSubscriptions, type SubscriptionParts } from './subscriptions.ts'
import { runThrottled } from './throttle.ts'

/** The subscriptions of all users, and the notices that go out for them. */
export interface Watching {
  /** Sends notices of a mailbox from now on. */
  watch(mailbox: Mailbox): void
  /** Removes the subscriptions of a user, as a new password does. */
  changePassword(user: User): void
  /** Answers a call below /v1.0/subscriptions. `path` is what follows, without its slash. */
  serve(caller: GraphCaller, path: string, request: Request): Promise<Response>
  /** Changes how notices behave; returns the settings. Throws `InvalidInput` for settings that are wrong. */
  configure(settings: unknown): NoticeSettings
  /** Its routes of the control API. */
  readonly controls: ControlApp
  close(): void
}

export function openWatching(
  ground: MicrosoftGround,
  mail: Pick<GraphMail, 'mailboxOf' | 'writing'>,
): Watching {
  const { users, clock } = ground
  const { writing } = mail
  const random = ground.random.stream('notices of Graph')
  const store = openSubscriptionStore(clock.now, random)
  const notifier = openNotifier(store, {
    random,
    writing,
    isActive: email => users.find(email)?.suspended === false,
  })
  const parts: SubscriptionParts = {
    store,
    notifier,
    now: clock.now,
    mailboxOf: mail.mailboxOf,
    ownerOf: (caller, name) => requireOwner(ground, caller, name),
  }
  return {
    watch: notifier.watch,
    changePassword(user) {
      notifier.tell(
        store.list().filter(({ email }) => email === user.email),
        'subscriptionRemoved',
      )
    },
    serve(caller, path, request) {
      const place = { app: caller.client.clientId, mailbox: caller.user?.email ?? caller.tenant.id }
      const work = () => serveSubscriptions(parts, caller, path, request)
      return runThrottled(writing.throttle, writing.settings, place, work)
    },
    configure: notifier.configure,
    controls: subscriptionControls(parts, users),
    close: notifier.close,
  }
}
