# shellcheck shell=bash
# Slurm's accounting: MariaDB on this machine, and slurmdbd, who alone asks it.
# Reads GPUCLUSTER_SLURM_CLUSTER (ClusterName of slurm.conf) and GPUCLUSTER_SLURM_PASSWORD (of letters and digits).
# Nothing here removes an account, a job or the database: undoing stops the daemons.

SLURM_DATABASE_SETTINGS=/etc/mysql/mariadb.conf.d/60-gpucluster.cnf

slurm_database_apply() {
    needs SLURM_CLUSTER
    needs SLURM_PASSWORD
    # Slurm's documentation, "Accounting and Resource Limits", MySQL configuration; slurmdbd complains of less.
    printf '[mariadbd]\nbind-address=127.0.0.1\ninnodb_buffer_pool_size=1G\ninnodb_log_file_size=64M\ninnodb_lock_wait_timeout=900\n' |
        write_file "$SLURM_DATABASE_SETTINGS" 644 mariadb.service
    slurm_runs mariadb.service
    # On standard input: `ps` shows arguments to every user.
    slurm_database_words | mariadb || fail "MariaDB does not take the database of Slurm's accounts: see the log"
    slurm_runs slurmdbd.service
    slurm_database_answers
    if ! sacctmgr -nP show cluster format=cluster | grep -qix "$GPUCLUSTER_SLURM_CLUSTER"; then
        sacctmgr -i add cluster "$GPUCLUSTER_SLURM_CLUSTER" || fail "slurmdbd does not take the cluster $GPUCLUSTER_SLURM_CLUSTER: see the log"
        changed "cluster $GPUCLUSTER_SLURM_CLUSTER"
    fi
}

slurm_database_words() {
    printf 'CREATE DATABASE IF NOT EXISTS slurm_acct_db;\n'
    printf "CREATE USER IF NOT EXISTS slurm@localhost IDENTIFIED BY '%s';\n" "$GPUCLUSTER_SLURM_PASSWORD"
    printf "ALTER USER slurm@localhost IDENTIFIED BY '%s';\n" "$GPUCLUSTER_SLURM_PASSWORD"
    printf 'GRANT ALL ON slurm_acct_db.* TO slurm@localhost;\n'
}

# slurm_database_answers: makes its tables when it starts first, which takes a while.
slurm_database_answers() {
    local try
    for try in $(seq 60); do
        if sacctmgr -nP show cluster format=cluster >/dev/null 2>&1; then return 0; fi
        [ "$try" = 60 ] || sleep 2
    done
    fail "slurmdbd does not answer: journalctl -u slurmdbd, and munge's key and clock on both machines"
}

slurm_database_undo() {
    slurm_ends slurmdbd.service
    remove_file "$SLURM_DATABASE_SETTINGS" mariadb.service
    restart_running mariadb.service
    release mariadb.service
}
