# A message from outside, which the sandbox delivers to Ada.
printf 'From: Zoe <zoe@example.com>\r\nSubject: Are you there?\r\n\r\nPlease answer.\r\n' |
  curl -sSf --data-binary @- "$SANDBOX_URL/users/ada@gmail.test/messages" | jq -r '"delivered as \(.id)"'
