import type { HostApp } from '../hosting/host-app.ts'
import type { Ground } from '../world/ground.ts'
import type { Host, PlayedProvider, Provider } from '../world/provider.ts'
import type { WorldSeed } from '../world/seed.ts'
import type { Users } from '../world/users.ts'
import { authorizeByHand, grantByHand } from './by-hand.ts'
import { CLOUD_NAMES, CLOUDS, type CloudName, cloudOf } from './clouds.ts'
import { microsoftControls } from './controls.ts'
import { microsoftFault } from './faults.ts'
import { graphHost } from './graph/graph-host.ts'
import { type GraphMail, openGraphMail } from './graph/mail.ts'
import { openWatching, type Watching } from './graph/watching.ts'
import type { MicrosoftGround } from './ground.ts'
import { newObjectId } from './ids.ts'
import {
  MICROSOFT_EXAMPLE,
  MICROSOFT_FIELDS,
  microsoftSeedOf,
  type SeedClient,
  SeedClientSchema,
} from './seed.ts'
import { openAssertions } from './sign-in/assertion.ts'
import { openCausedRefusals } from './sign-in/caused-refusals.ts'
import { openClients } from './sign-in/clients.ts'
import { openCodes } from './sign-in/codes.ts'
import { openGrants } from './sign-in/grants.ts'
import { type CloudKeys, openCloudKeys } from './sign-in/keys.ts'
import { loginHost } from './sign-in/login-host.ts'
import { openTenants } from './tenants.ts'

const host = (name: string, port: number, servesPages = false): Host => ({
  name,
  port,
  servesPages,
  refuse: microsoftFault,
})

const PERSONAL_DOMAINS = new Set(['outlook.test', 'outlook.com', 'hotmail.com', 'live.com', 'msn.com'])

/** Microsoft's sign-in and Graph in four clouds. */
export const microsoft: Provider = {
  name: 'microsoft',
  clouds: CLOUD_NAMES,
  hosts: [
    host('login.microsoftonline.com', 6, true),
    host('graph.microsoft.com', 7),
    host('login.microsoftonline.us', 8, true),
    host('graph.microsoft.us', 9),
    host('dod-graph.microsoft.us', 10),
    host('login.partner.microsoftonline.cn', 11, true),
    host('microsoftgraph.chinacloudapi.cn', 12),
    host('outlook.office.com', 13),
    host('partner.outlook.cn', 14),
  ],
  users: {
    newId: newObjectId,
    personalDomains: PERSONAL_DOMAINS,
    mailHosts(user) {
      if (user.organization === null) return ['outlook-com.olc.protection.outlook.com']
      return [`${user.organization.replaceAll('.', '-')}.${cloudOf(user).mailHost}`]
    },
    problemOf({ email, cloud, organization, delegates }) {
      if (organization !== null) return null
      if (!cloudOf({ cloud }).hasPersonalAccounts)
        return `cloud: ${cloud} has no persons' own accounts such as ${email}.`
      return delegates.length > 0 ? `delegates: ${email} is a person's own account.` : null
    },
  },
  seed: { fields: MICROSOFT_FIELDS, client: SeedClientSchema, example: MICROSOFT_EXAMPLE },
  async start() {
    const keys = openCloudKeys()
    return (ground, users, seed) => begin(ground, users, seed, keys)
  },
}

function begin(shared: Ground, users: Users, seed: WorldSeed, keys: CloudKeys): PlayedProvider {
  const { clock, random } = shared
  const ground: MicrosoftGround = {
    ...shared,
    users,
    keys,
    tenants: openTenants(users, random.stream('tenants')),
    clients: openClients(),
    grants: openGrants(clock, random.stream('grants of Microsoft')),
    codes: openCodes(clock, random.stream('codes of Microsoft')),
    assertions: openAssertions(clock),
    refusals: openCausedRefusals(),
  }
  for (const tenant of microsoftSeedOf(seed).tenants ?? []) ground.tenants.configure(tenant)
  const mail = openGraphMail(ground)
  const watching = openWatching(ground, mail)
  return {
    apps: appsOf(ground, mail, watching),
    controls: microsoftControls(ground, mail).route('/', watching.controls),
    // Parsed by the schema and the clouds that the provider names.
    addClient: ({ cloud, fields }) => ground.clients.add(CLOUDS[cloud as CloudName], fields as SeedClient),
    clients: () => ground.clients.list(),
    grant: input => grantByHand(ground, input),
    authorize: input => authorizeByHand(ground, input),
    expire: mail.expire,
    configurePushes: watching.configure,
    rotateKeys: () => keys.rotate(),
    addUser(user, messages) {
      watching.watch(mail.addUser(user, messages))
    },
    findByAlias: () => null,
    receive: mail.receive,
    changePassword(user) {
      ground.grants.changePassword(user)
      watching.changePassword(user)
    },
    suspend: watching.changePassword,
    close() {
      watching.close()
      mail.close()
    },
  }
}

function appsOf(ground: MicrosoftGround, mail: GraphMail, watching: Watching): Record<string, HostApp> {
  const clouds = Object.values(CLOUDS)
  return Object.fromEntries([
    ...clouds.map((cloud): [string, HostApp] => [cloud.loginHost, loginHost(ground, cloud.loginHost)]),
    ...clouds.map((cloud): [string, HostApp] => [cloud.graphHost, graphHost(ground, mail, watching, cloud)]),
    ...clouds.flatMap((cloud): [string, HostApp][] =>
      cloud.uploadHost === null ? [] : [[cloud.uploadHost, mail.uploadHost(cloud)]],
    ),
  ])
}
