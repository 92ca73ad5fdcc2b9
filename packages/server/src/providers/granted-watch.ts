/** The pushes of a mailbox's changes to a topic, as the provider granted them. */
export interface GrantedWatch {
  topic: string
  expiresAt: Date
  renewAt: Date
}
