import type { ControlApp } from '../control/routes.ts'
import type { HostApp } from '../hosting/host-app.ts'
import type { Fault } from './faults.ts'
import type { Ground } from './ground.ts'
import type { Mailboxes } from './post-office.ts'
import type { Random } from './random.ts'
import type { NewClient, SeededProvider, WorldSeed } from './seed.ts'
import type { User, Users } from './users.ts'

/** A provider that the sandbox can play: its hosts, its users, its part of a seed, and how it begins in a world. */
export interface Provider extends SeededProvider {
  readonly hosts: readonly Host[]
  readonly users: UserRules
  /** Makes what outlasts worlds, such as signing keys. */
  start(): Promise<BeginProvider>
}

/** Begins a provider in a new world. Its users are added afterwards. */
export type BeginProvider = (ground: Ground, users: Users, seed: WorldSeed) => PlayedProvider

/** A host of a provider, which has a port of its own. */
export interface Host {
  readonly name: string
  /** Its port, counted from that of the control API. No two hosts have the same, and it never changes. */
  readonly port: number
  /** Pages are on `localhost`: for a browser another site than the service on 127.0.0.1. */
  readonly servesPages: boolean
  /** The answer of a fault that refuses a call. */
  refuse(fault: Fault, host: string): Response
}

/** Rules by which users of a provider are made and found. */
export interface UserRules {
  /** `organization` is the organization's domain; null for a person's own account. */
  newId(random: Random, organization: string | null): string
  /** Addresses of these domains belong to persons; all others to the organization of their domain. */
  readonly personalDomains: ReadonlySet<string>
  /** Hosts that the MX records of the user's domain name. */
  mailHosts(user: User): readonly string[]
  /** The reason why the provider can have no such user, asked for before it is added or changed; null if it can. */
  problemOf(user: Pick<User, 'email' | 'cloud' | 'organization' | 'delegates'>): string | null
}

/** A provider in one world. */
export interface PlayedProvider extends Mailboxes {
  /** Answers each of its hosts, by name. */
  readonly apps: Readonly<Record<string, HostApp>>
  /** Its own routes of the control API. */
  readonly controls: ControlApp
  /** Adds a client, or changes the one with its id. Returns it as the control API shows it. */
  addClient(client: NewClient): object
  clients(): readonly ShownClient[]
  /** Grants scopes to a client without pages. Throws `InvalidInput` for an unknown user or client. */
  grant(input: GrantInput): GrantedTokens | Promise<GrantedTokens>
  /** Answers the sign-in pages at a URL in place of a person. Throws `InvalidInput` if they show an error. */
  authorize(input: AuthorizeInput): { redirectUrl: string } | Promise<{ redirectUrl: string }>
  /** Makes the places from which clients follow mailboxes too old. Throws `InvalidInput` for what it cannot expire. */
  expire(input: ExpireInput): void
  /** Changes how pushes behave; returns the settings. Throws `InvalidInput` for settings that are wrong. */
  configurePushes(settings: unknown): object
  /** Makes the mailbox of a new user, with this number of messages. */
  addUser(user: User, messages: number): void
  /** Ends the grants that a new password ends. */
  changePassword(user: User): void
  /** Ends the work for a user who is suspended from now on; tokens are refused by themselves. */
  suspend?(user: User): void
  /** Ends the work that goes on by itself, such as pushes. */
  close(): void
}

/** An OAuth client as the control API shows it, with the provider's own fields. */
export interface ShownClient {
  readonly clientId: string
  /** Left out at a provider with one cloud only. */
  readonly cloud?: string
  /** Null for a client that proves itself by a certificate. */
  readonly clientSecret: string | null
}

export interface GrantInput {
  readonly user: string
  readonly clientId: string
  /** Cloud of the client; null for that of the user. */
  readonly cloud: string | null
  readonly scopes: readonly string[]
}

export interface GrantedTokens {
  readonly accessToken: string
  readonly refreshToken: string
}

export interface AuthorizeInput {
  /** URL of the authorization endpoint that a person would be sent to, at the provider or here. */
  readonly url: string
  readonly user: string
  /** The boxes of consent that stay ticked; null for all. */
  readonly scopes: readonly string[] | null
  /** The person's way out instead of allowing: refusing, or a page that only an administrator can pass. */
  readonly denies: 'refused' | 'admin_required' | null
}

export interface ExpireInput {
  /** Null for all users. */
  readonly user: User | null
  /** Kind of link to expire, at providers that have several: within a round, or between two. Null for all. */
  readonly at: 'next' | 'delta' | null
}
