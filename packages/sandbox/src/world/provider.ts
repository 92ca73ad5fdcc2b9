import type { ControlApp } from '../control/routes.ts'
import type { HostApp } from '../hosting/host-app.ts'
import type { Fault } from './faults.ts'
import type { Ground } from './ground.ts'
import type { Mailboxes } from './post-office.ts'
import type { Random } from './random.ts'
import type { SeededProvider, WorldSeed } from './seed.ts'
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
  newId(random: Random): string
  /** Addresses of these domains belong to persons; all others to the organization of their domain. */
  readonly personalDomains: ReadonlySet<string>
  /** Hosts that the MX records of the users' domains name. */
  readonly mailHosts: readonly string[]
}

/** A provider in one world. */
export interface PlayedProvider extends Mailboxes {
  /** Answers each of its hosts, by name. */
  readonly apps: Readonly<Record<string, HostApp>>
  /** Its own routes of the control API. */
  readonly controls: ControlApp
  /** Makes the mailbox of a new user, with this number of messages. */
  addUser(user: User, messages: number): void
  /** Ends the grants that a new password ends. */
  changePassword(user: User): void
  /** Ends the work that goes on by itself, such as pushes. */
  close(): void
}
