/* tree_particles.h - particles that are difficult for a tree, and Plummer's model of any size. */
#ifndef TEST_TREE_PARTICLES_H
#define TEST_TREE_PARTICLES_H

enum tree_model {
    TREE_CUBE,
    TREE_CLUSTER,   /* denser towards the middle */
    TREE_PAIRS,     /* closer than keys can distinguish */
    TREE_ONE_PLACE, /* all at one position */
    TREE_FAR,       /* a few at great distance */
    TREE_MODELS
};

struct tree_particles {
    int n;
    double (*x)[3], *mass;
};

/* Makes particles, the same for the same arguments; the caller frees them. */
struct tree_particles tree_particles_make(enum tree_model model, int n);
struct tree_particles tree_particles_plummer(int n);
void tree_particles_free(struct tree_particles *p);

#endif
