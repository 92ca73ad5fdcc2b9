import { type Context, Hono } from 'hono'
import type { HostApp, HostEnv } from '../hosting/host-app.ts'
import type { User } from '../world/users.ts'
import { allow, type Authorization, deny, needsConsent, readAuthorization } from './authorization.ts'
import { discoveryDocument } from './discovery.ts'
import type { GoogleGround } from './ground.ts'
import { blockedPage, chooserPage, consentPage } from './pages.ts'
import { revoke } from './revoke.ts'

type HostContext = Context<HostEnv>

/** Plays accounts.google.com: the pages where a person signs in and consents. They keep no session. */
export function accountsHost(ground: GoogleGround): HostApp {
  const { accounts, users } = ground
  const app = new Hono<HostEnv>()

  app.use(async (context, next) => {
    await next()
    context.res.headers.set('x-frame-options', 'DENY')
    context.res.headers.set('cache-control', 'no-store')
  })
  app.get('/.well-known/openid-configuration', context => context.json(discoveryDocument(ground.origins)))
  app.on('GET', ['/o/oauth2/v2/auth', '/o/oauth2/auth'], context =>
    start(context, ground, new URL(context.req.url).search.slice(1)),
  )
  app.post('/signin/oauth/account', async context => {
    const form = await readForm(context)
    const user = users.find(form.get('user') ?? '')
    return resume(context, ground, form, authorization =>
      user
        ? proceed(context, ground, authorization, user, form)
        : choose(context, ground, authorization, form),
    )
  })
  app.post('/signin/oauth/consent', async context => {
    const form = await readForm(context)
    return resume(context, ground, form, authorization => {
      const user = users.find(form.get('user') ?? '')
      const answer = form.get('answer')
      if (answer === 'deny') return context.redirect(deny(authorization))
      if (answer !== 'allow' || !user || user.suspended) return choose(context, ground, authorization, form)
      return context.redirect(allow(accounts, authorization, user, form.getAll('scope')))
    })
  })
  app.on(['GET', 'POST'], '/o/oauth2/revoke', async context => {
    const token = context.req.query('token') ?? (await readForm(context)).get('token')
    return revoke(accounts, token)
  })
  return app
}

/** Shows the first page that is needed: a `login_hint` that is known goes without the choice of an account. */
function start(context: HostContext, ground: GoogleGround, query: string): Response | Promise<Response> {
  const form = new URLSearchParams({ request: query })
  return resume(context, ground, form, authorization => {
    const { prompts, loginHint } = authorization
    const user =
      loginHint === null ? null : (ground.users.find(loginHint) ?? ground.users.findById(loginHint))
    if (prompts.has('none')) {
      if (!user) return context.redirect(deny(authorization, 'login_required'))
      if (needsConsent(ground.accounts, authorization, user)) {
        return context.redirect(deny(authorization, 'interaction_required'))
      }
    }
    if (!user || prompts.has('select_account')) return choose(context, ground, authorization, form)
    return proceed(context, ground, authorization, user, form)
  })
}

/** Reads the authorization request again, which each form carries along. */
function resume(
  context: HostContext,
  ground: GoogleGround,
  form: URLSearchParams,
  then: (authorization: Authorization) => Response | Promise<Response>,
): Response | Promise<Response> {
  const read = readAuthorization(ground.accounts, new URLSearchParams(form.get('request') ?? ''))
  if ('error' in read) return context.html(blockedPage(read), read.status as 400 | 401)
  context.env.call.clientId = read.client.clientId
  return then(read)
}

function choose(
  context: HostContext,
  ground: GoogleGround,
  authorization: Authorization,
  form: URLSearchParams,
): Response | Promise<Response> {
  const users = ground.users.list().filter(user => !user.suspended)
  return context.html(chooserPage(authorization, users, form.get('request') ?? ''))
}

function proceed(
  context: HostContext,
  ground: GoogleGround,
  authorization: Authorization,
  user: User,
  form: URLSearchParams,
): Response | Promise<Response> {
  context.env.call.user = user.email
  if (user.suspended) return choose(context, ground, authorization, form)
  return needsConsent(ground.accounts, authorization, user)
    ? context.html(consentPage(authorization, user, form.get('request') ?? ''))
    : context.redirect(allow(ground.accounts, authorization, user, authorization.scopes))
}

async function readForm(context: HostContext): Promise<URLSearchParams> {
  return new URLSearchParams(await context.req.text())
}
